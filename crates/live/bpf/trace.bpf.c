/* Watches who writes: system calls that touch storage, requests to block devices, commits of ext4's
 * journal, checkpoints and cleaning of F2FS. Raw tracepoints: no kprobe and no tracefs is needed. */
#include "kernel.h"
#include "records.h"

char license_of_programs[] SEC("license") = "Dual MIT/GPL";

enum { S_IFMT = 0170000, S_IFREG = 0100000, S_IFDIR = 0040000, S_IFBLK = 0060000 };
enum { REQ_OP_READ = 0 };
enum { O_RDONLY = 0, O_ACCMODE = 3, O_APPEND = 02000, AT_FDCWD = -100, PROT_WRITE = 2, MAP_SHARED = 1, TS_COMPAT = 2 };
enum { DEEPEST = 40, CALLS = 1024 };
#define UNKNOWN (~0ULL)

/* Set before loading. */
const volatile u8 calls[CALLS] = {}; /* system call number -> enum call */
const volatile u32 argument_at[6] = {}; /* offsets of arguments in the saved registers */
const volatile u32 own = 0; /* the process that watches */
const volatile u32 followed_only = 0; /* only processes in `followed` */
const volatile u32 request_argument = 0; /* which argument of block_rq_issue is the request */
const volatile u32 compat = 0; /* whether thread_info.status says "32-bit call" */
const volatile u32 reads = 0; /* whether reads are recorded */

struct thread {
	u64 began;
	u64 offset;
	u64 argument;
	struct file_id file;
	struct file_id to;
	u64 path;
	u64 to_path;
	u32 call;
	u32 mode;
	char name[16];
};

struct known_file {
	struct dentry *dentry;
	struct dentry *parent;
	u64 name;
};

struct writer {
	u32 tid;
	u32 pid;
	char name[16] __attribute__((aligned(8)));
};

struct work_key {
	u64 filesystem;
	u64 work;
};

struct request_state {
	struct block_record record;
	u32 done;
};

struct ring_state {
	u64 began;
	u64 offset;
	struct file_id file;
	u32 call;
	u32 mode;
	u32 tid;
	u32 pid;
};

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, struct thread);
} threads SEC(".maps");
struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct file_id);
	__type(value, struct known_file);
} known_files SEC(".maps");
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 65536);
	__type(key, u32);
	__type(value, u8);
} followed SEC(".maps");
/* Filesystems whose files are recorded. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u8);
} filesystems SEC(".maps");
/* Disks whose requests are recorded; where `all_disks` is set, every one. */
const volatile u32 all_disks = 0;
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u8);
} disks SEC(".maps");
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct request_state);
} requests SEC(".maps");
/* Who asked for a write that is not issued yet: requests are often issued by the kernel's workers. */
struct {
	__uint(type, MAP_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, u64);
	__type(value, struct writer);
} writers SEC(".maps");
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct ring_state);
} ring_requests SEC(".maps");
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u64);
} commits SEC(".maps");
/* Checkpoints and cleanings under way: a filesystem does one of each at a time. */
struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 1024);
	__type(key, struct work_key);
	__type(value, u64);
} works SEC(".maps");
struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

INLINE void count(u32 which)
{
	u64 *counter = map_lookup(&counts, &which);

	if (counter)
		*counter += 1;
}

/* A record in the ring, or nothing and the loss counted. */
INLINE void *reserve(u64 size)
{
	void *record = ring_reserve(&events, size, 0);

	if (!record)
		count(COUNT_RING_FULL);
	return record;
}

INLINE u64 argument(void *registers, u32 index)
{
	u64 value = 0;

	read_kernel(&value, sizeof(value), registers + argument_at[index]);
	return value;
}

/* The open file of a descriptor of the current thread. */
INLINE struct file *open_file(u32 descriptor)
{
	struct task_struct *task = (void *)current_task();
	struct files_struct *files = READ(task, files);
	struct fdtable *table = READ(files, fdt);
	struct file **all = READ(table, fd);
	struct file *file = NULL;

	if (descriptor < READ(table, max_fds))
		read_kernel(&file, sizeof(file), all + descriptor);
	return file;
}

INLINE u32 identify(struct inode *inode, struct file_id *id)
{
	id->inode = READ(inode, i_ino);
	id->generation = READ(inode, i_generation);
	id->device = READ(READ(inode, i_sb), s_dev);
	return READ(inode, i_mode);
}

/* Sends a file's path the first time that the file is seen, and after it was given another name. */
INLINE void name(struct file_id *id, struct dentry *dentry)
{
	struct known_file new = {
		.dentry = dentry,
		.parent = READ(dentry, d_parent),
		.name = READ(dentry, d_name.hash_len),
	};
	struct known_file *old = map_lookup(&known_files, id);

	if (old && old->dentry == new.dentry && old->parent == new.parent && old->name == new.name)
		return;
	for (u32 depth = 0; depth < DEEPEST; depth++) {
		struct dentry *parent = READ(dentry, d_parent);
		struct name_record *record = reserve(sizeof(*record));
		long length;

		if (!record)
			return;
		record->kind = RECORD_NAME;
		record->depth = depth;
		record->file = *id;
		record->last = parent == dentry || !parent;
		length = read_kernel_text(record->text, sizeof(record->text), READ(dentry, d_name.name));
		record->length = length > 0 ? length - 1 : 0;
		ring_submit(record, NO_WAKEUP);
		if (parent == dentry || !parent)
			break;
		dentry = parent;
	}
	map_update(&known_files, id, &new, ANY);
}

/* Whether a file is storage that is watched. Its identity and path become known. */
INLINE bool watched_file(struct file *file, struct file_id *id, u32 *mode)
{
	struct inode *inode;

	if (!file)
		return 0;
	inode = READ(file, f_inode);
	*mode = READ(inode, i_mode);
	if ((*mode & S_IFMT) != S_IFREG && (*mode & S_IFMT) != S_IFDIR && (*mode & S_IFMT) != S_IFBLK)
		return 0;
	identify(inode, id);
	if (!map_lookup(&filesystems, &id->device))
		return 0;
	name(id, READ(file, f_path.dentry));
	return 1;
}

/* What a path of a call begins at. */
INLINE bool watched_directory(u32 descriptor, struct file_id *id)
{
	struct dentry *dentry;

	if ((s32)descriptor == AT_FDCWD) {
		struct task_struct *task = (void *)current_task();

		dentry = READ(READ(task, fs), pwd.dentry);
	} else {
		struct file *file = open_file(descriptor);

		if (!file)
			return 0;
		dentry = READ(file, f_path.dentry);
	}
	identify(READ(dentry, d_inode), id);
	name(id, dentry);
	return 1;
}

INLINE bool is_watched_process(u32 pid)
{
	if (pid == own)
		return 0;
	return !followed_only || map_lookup(&followed, &pid);
}

INLINE void tell_task(struct thread *thread, u32 tid, u32 pid)
{
	struct task_struct *task = (void *)current_task();
	u64 name[2];
	struct task_record *record;

	current_name(name, sizeof(name));
	if (((u64 *)thread->name)[0] == name[0] && ((u64 *)thread->name)[1] == name[1])
		return;
	record = reserve(sizeof(*record));
	if (!record)
		return;
	record->kind = RECORD_TASK;
	record->tid = tid;
	record->pid = pid;
	record->pad = 0;
	((u64 *)record->thread)[0] = name[0];
	((u64 *)record->thread)[1] = name[1];
	task = READ(task, group_leader);
	read_kernel(record->process, sizeof(record->process), &task->comm);
	ring_submit(record, NO_WAKEUP);
	((u64 *)thread->name)[0] = name[0];
	((u64 *)thread->name)[1] = name[1];
}

INLINE bool is_32_bit(void)
{
	struct task_struct *task = (void *)current_task();

	return compat && (READ(task, thread_info.status) & TS_COMPAT);
}

/* Whether a file can be written through the descriptor; where reads are recorded every file counts. */
INLINE bool counts_as_open(struct file *file)
{
	return reads || (READ(file, f_flags) & O_ACCMODE) != O_RDONLY;
}

/* What has to be known before a call on an open file: which file, and where in the file. */
INLINE bool begin_on_file(struct thread *thread, void *registers, u32 call)
{
	u32 which = call == CALL_MMAP ? 4 : call == CALL_COPY_RANGE ? 2 : 0;
	struct file *file;

	if (call == CALL_MMAP && (!(argument(registers, 2) & PROT_WRITE) || !(argument(registers, 3) & MAP_SHARED)))
		return 0;
	file = open_file(argument(registers, which));
	if (call == CALL_CLOSE && !counts_as_open(file))
		return 0;
	if (!watched_file(file, &thread->file, &thread->mode))
		return 0;
	thread->offset = UNKNOWN;
	if (call == CALL_PREAD || call == CALL_PWRITE)
		thread->offset = argument(registers, 3);
	else if (call == CALL_READ || call == CALL_SENDFILE)
		thread->offset = READ(file, f_pos);
	else if (call == CALL_WRITE)
		thread->offset = READ(file, f_flags) & O_APPEND ? READ(READ(file, f_inode), i_size) :
								  READ(file, f_pos);
	else if (call == CALL_FTRUNCATE)
		thread->argument = argument(registers, 1);
	return 1;
}

/* What has to be kept of a call on a path until its end. */
INLINE void begin_on_path(struct thread *thread, void *registers, u32 call)
{
	bool plain = call == CALL_UNLINK || call == CALL_RENAME || call == CALL_TRUNCATE;

	thread->path = argument(registers, plain ? 0 : 1);
	thread->argument = plain ? (u32)AT_FDCWD : (u32)argument(registers, 0);
	thread->to_path = call == CALL_RENAME	? argument(registers, 1) :
			  call == CALL_RENAMEAT ? argument(registers, 3) :
						  0;
	thread->offset = call == CALL_RENAMEAT ? (u32)argument(registers, 2) : (u32)AT_FDCWD;
	if (call == CALL_TRUNCATE)
		thread->offset = argument(registers, 1);
}

INLINE bool is_open(u32 call)
{
	return call == CALL_OPEN || call == CALL_OPEN_PLAIN || call == CALL_OPEN_HOW || call == CALL_CREAT;
}

INLINE void begin_open(struct thread *thread, void *registers, u32 call)
{
	if (call == CALL_OPEN) {
		thread->argument = argument(registers, 2);
	} else if (call == CALL_OPEN_PLAIN) {
		thread->argument = argument(registers, 1);
	} else if (call == CALL_CREAT) {
		thread->argument = 01101; /* O_CREAT | O_WRONLY | O_TRUNC */
	} else {
		thread->argument = 0;
		read_user(&thread->argument, sizeof(thread->argument), (void *)argument(registers, 2));
	}
}

INLINE bool is_on_path(u32 call)
{
	return call >= CALL_TRUNCATE && call <= CALL_RENAMEAT;
}

SEC("raw_tp/sys_enter")
int enter(u64 *context)
{
	void *registers = (void *)context[0];
	u64 number = context[1];
	struct thread *thread;
	u64 both;
	u32 call, tid, pid;

	if (number >= CALLS)
		return 0;
	call = calls[number];
	if (!call)
		return 0;
	both = pid_and_tid();
	tid = both;
	pid = both >> 32;
	if (!is_watched_process(pid))
		return 0;
	if (is_32_bit()) {
		count(COUNT_COMPAT);
		return 0;
	}
	if (!reads && (call == CALL_READ || call == CALL_PREAD))
		return 0;
	thread = map_lookup(&threads, &tid);
	if (!thread) {
		struct thread empty = {};

		map_update(&threads, &tid, &empty, ANY);
		thread = map_lookup(&threads, &tid);
		if (!thread) {
			count(COUNT_THREADS_FULL);
			return 0;
		}
	}
	thread->call = CALL_NONE;
	if (is_open(call))
		begin_open(thread, registers, call);
	else if (is_on_path(call))
		begin_on_path(thread, registers, call);
	else if (call != CALL_SYNC && call != CALL_MSYNC && !begin_on_file(thread, registers, call))
		return 0;
	thread->call = call;
	thread->began = now();
	return 0;
}

/* Sends a call on paths, with both of its texts. */
INLINE void end_on_path(struct thread *thread, u32 tid, u32 pid, u64 took)
{
	struct file_id directory = {}, to_directory = {};
	u32 call = thread->call;
	struct path_record *record;

	watched_directory(thread->argument, &directory);
	if (thread->to_path)
		watched_directory(thread->offset, &to_directory);
	record = reserve(sizeof(*record));
	if (!record)
		return;
	record->kind = RECORD_PATH;
	record->call = call;
	record->began = thread->began;
	record->took = took;
	record->tid = tid;
	record->pid = pid;
	record->directory = directory;
	record->to_directory = to_directory;
	record->argument = thread->offset;
	record->length = read_user_text(record->text, sizeof(record->text), (void *)thread->path);
	record->to_length = 0;
	if (thread->to_path)
		record->to_length = read_user_text(record->to_text, sizeof(record->to_text), (void *)thread->to_path);
	ring_submit(record, NO_WAKEUP);
}

INLINE void send_call(struct thread *thread, u32 tid, u32 pid, u64 took, s64 result)
{
	struct call_record *record = reserve(sizeof(*record));

	if (!record)
		return;
	record->kind = RECORD_CALL;
	record->call = thread->call;
	record->began = thread->began;
	record->took = took;
	record->tid = tid;
	record->pid = pid;
	record->file = thread->file;
	record->offset = thread->offset;
	record->argument = thread->argument;
	record->result = result;
	record->mode = thread->mode;
	record->ring = 0;
	ring_submit(record, NO_WAKEUP);
}

SEC("raw_tp/sys_exit")
int leave(u64 *context)
{
	s64 result = context[1];
	u64 both = pid_and_tid();
	u32 tid = both, pid = both >> 32;
	struct thread *thread = map_lookup(&threads, &tid);
	u64 took;

	if (!thread || thread->call == CALL_NONE)
		return 0;
	took = now() - thread->began;
	/* A call that failed did nothing to storage. */
	if (result >= 0) {
		if (is_on_path(thread->call)) {
			tell_task(thread, tid, pid);
			end_on_path(thread, tid, pid, took);
		} else if (is_open(thread->call)) {
			struct file *file = open_file(result);

			if (counts_as_open(file) && watched_file(file, &thread->file, &thread->mode)) {
				tell_task(thread, tid, pid);
				send_call(thread, tid, pid, took, result);
			}
		} else {
			tell_task(thread, tid, pid);
			send_call(thread, tid, pid, took, result);
		}
	}
	thread->call = CALL_NONE;
	return 0;
}

SEC("raw_tp/sched_process_exit")
int thread_exit(u64 *context)
{
	u32 tid = pid_and_tid();

	map_delete(&threads, &tid);
	return 0;
}

/* A child of a followed process is followed. The watching process itself is in `followed`, for its only
 * child is the command. */
SEC("raw_tp/sched_process_fork")
int fork(u64 *context)
{
	struct task_struct *child = (void *)context[1];
	u32 parent_pid = pid_and_tid() >> 32, pid = READ(child, tgid);
	u8 yes = 1;

	if (!followed_only || pid == parent_pid)
		return 0;
	if (!map_lookup(&followed, &parent_pid))
		map_delete(&followed, &pid); /* the number of a followed process that has ended */
	else if (map_update(&followed, &pid, &yes, ANY))
		count(COUNT_PROCESSES_FULL);
	return 0;
}

/* Loads only where the tracepoint has a second argument: before Linux 5.11 the first was the queue. */
SEC("tp_btf/block_rq_issue")
int two_arguments(u64 *context)
{
	return context[1] != 0;
}

INLINE u32 disk_of(struct request *request)
{
	struct gendisk *disk;

	if (EXISTS((struct request___old *)request, rq_disk))
		disk = READ((struct request___old *)request, rq_disk);
	else
		disk = READ(READ(request, q), disk);
	return ((u32)READ(disk, major) << 20) | (u32)READ(disk, first_minor);
}

INLINE u32 flags_of(u32 flags)
{
	u32 set = 0;

	if (flags & (1u << ENUM_VALUE(enum req_flag_bits, __REQ_SYNC)))
		set |= FLAG_SYNC;
	if (flags & (1u << ENUM_VALUE(enum req_flag_bits, __REQ_META)))
		set |= FLAG_META;
	if (flags & (1u << ENUM_VALUE(enum req_flag_bits, __REQ_FUA)))
		set |= FLAG_FUA;
	if (flags & (1u << ENUM_VALUE(enum req_flag_bits, __REQ_PREFLUSH)))
		set |= FLAG_PREFLUSH;
	if (flags & (1u << ENUM_VALUE(enum req_flag_bits, __REQ_RAHEAD)))
		set |= FLAG_AHEAD;
	return set;
}

SEC("raw_tp/block_bio_queue")
int queue(u64 *context)
{
	struct bio *bio = (void *)(request_argument ? context[1] : context[0]);
	u64 both = pid_and_tid(), key = (u64)bio;
	struct writer writer = { .tid = both, .pid = both >> 32 };

	if ((READ(bio, bi_opf) & 0xff) == REQ_OP_READ)
		return 0;
	current_name(writer.name, sizeof(writer.name));
	map_update(&writers, &key, &writer, ANY);
	return 0;
}

SEC("raw_tp/block_rq_issue")
int issue(u64 *context)
{
	struct request *request = (void *)(request_argument ? context[1] : context[0]);
	struct request_state state = {};
	u64 both = pid_and_tid(), key = (u64)request, allocated, bio;
	struct writer *writer;
	u32 disk = disk_of(request), flags;

	if (!all_disks && !map_lookup(&disks, &disk))
		return 0;
	flags = READ(request, cmd_flags);
	allocated = READ(request, start_time_ns);
	state.record.kind = RECORD_BLOCK;
	state.record.operation = flags & 0xff;
	state.record.issued = now();
	state.record.queued = allocated && allocated <= state.record.issued ? state.record.issued - allocated : UNKNOWN;
	state.record.sector = READ(request, __sector);
	state.record.bytes = READ(request, __data_len);
	state.record.device = disk;
	state.record.flags = flags_of(flags);
	bio = (u64)READ(request, bio);
	writer = bio ? map_lookup(&writers, &bio) : NULL;
	if (writer) {
		state.record.tid = writer->tid;
		state.record.pid = writer->pid;
		((u64 *)state.record.thread)[0] = ((u64 *)writer->name)[0];
		((u64 *)state.record.thread)[1] = ((u64 *)writer->name)[1];
		map_delete(&writers, &bio);
	} else {
		state.record.tid = both;
		state.record.pid = both >> 32;
		current_name(state.record.thread, sizeof(state.record.thread));
	}
	if (map_update(&requests, &key, &state, ANY))
		count(COUNT_REQUESTS_FULL);
	return 0;
}

SEC("raw_tp/block_rq_complete")
int complete(u64 *context)
{
	u64 key = context[0];
	u32 bytes = context[2];
	struct request_state *state = map_lookup(&requests, &key);
	struct block_record *record;

	if (!state)
		return 0;
	/* A request may complete in parts. */
	state->done += bytes;
	if (state->done < state->record.bytes)
		return 0;
	record = reserve(sizeof(*record));
	if (record) {
		*record = state->record;
		record->took = now() - record->issued;
		ring_submit(record, NO_WAKEUP);
	}
	map_delete(&requests, &key);
	return 0;
}

SEC("raw_tp/jbd2_start_commit")
int commit_begins(u64 *context)
{
	u32 tid = pid_and_tid();
	u64 began = now();

	map_update(&commits, &tid, &began, ANY);
	return 0;
}

SEC("raw_tp/jbd2_end_commit")
int commit_ends(u64 *context)
{
	u32 tid = pid_and_tid();
	u64 *began = map_lookup(&commits, &tid);
	struct journal_record *record;

	if (!began)
		return 0;
	record = reserve(sizeof(*record));
	if (record) {
		record->kind = RECORD_JOURNAL;
		record->tid = tid;
		record->began = *began;
		record->took = now() - *began;
		current_name(record->thread, sizeof(record->thread));
		ring_submit(record, NO_WAKEUP);
	}
	map_delete(&commits, &tid);
	return 0;
}

INLINE void work_begins(struct super_block *filesystem, u32 work)
{
	struct work_key key = { .filesystem = (u64)filesystem, .work = work };
	u64 began = now();

	map_update(&works, &key, &began, ANY);
}

INLINE void work_ends(struct super_block *filesystem, u32 work)
{
	struct work_key key = { .filesystem = (u64)filesystem, .work = work };
	u64 *began = map_lookup(&works, &key), both = pid_and_tid();
	u32 device = READ(filesystem, s_dev);
	struct work_record *record;

	if (!began)
		return;
	record = map_lookup(&filesystems, &device) ? reserve(sizeof(*record)) : NULL;
	if (record) {
		record->kind = RECORD_WORK;
		record->work = work;
		record->began = *began;
		record->took = now() - *began;
		record->device = device;
		record->tid = both;
		record->pid = both >> 32;
		record->pad = 0;
		current_name(record->thread, sizeof(record->thread));
		ring_submit(record, NO_WAKEUP);
	}
	map_delete(&works, &key);
}

/* The phase is a text, and in newer kernels the number of one: 0 "start block_ops", 1 "finish block_ops",
 * 2 "finish checkpoint". */
SEC("raw_tp/f2fs_write_checkpoint")
int checkpoint(u64 *context)
{
	struct super_block *filesystem = (void *)context[0];
	u64 phase = context[2];
	char text[16] = {};

	if (phase > 2) {
		read_kernel_text(text, sizeof(text), (void *)phase);
		phase = text[0] == 's' ? 0 : text[7] == 'c' ? 2 : 1;
	}
	if (phase == 0)
		work_begins(filesystem, WORK_CHECKPOINT);
	else if (phase == 2)
		work_ends(filesystem, WORK_CHECKPOINT);
	return 0;
}

SEC("raw_tp/f2fs_gc_begin")
int cleaning_begins(u64 *context)
{
	work_begins((void *)context[0], WORK_CLEANING);
	return 0;
}

SEC("raw_tp/f2fs_gc_end")
int cleaning_ends(u64 *context)
{
	work_ends((void *)context[0], WORK_CLEANING);
	return 0;
}

INLINE u32 ring_call(u8 operation)
{
	if (operation == ENUM_VALUE(enum io_uring_op, IORING_OP_WRITEV) ||
	    operation == ENUM_VALUE(enum io_uring_op, IORING_OP_WRITE_FIXED) ||
	    operation == ENUM_VALUE(enum io_uring_op, IORING_OP_WRITE))
		return CALL_PWRITE;
	if (reads && (operation == ENUM_VALUE(enum io_uring_op, IORING_OP_READV) ||
		      operation == ENUM_VALUE(enum io_uring_op, IORING_OP_READ_FIXED) ||
		      operation == ENUM_VALUE(enum io_uring_op, IORING_OP_READ)))
		return CALL_PREAD;
	if (operation == ENUM_VALUE(enum io_uring_op, IORING_OP_FSYNC))
		return CALL_FSYNC;
	return CALL_NONE;
}

SEC("raw_tp/io_uring_submit_req")
int ring_submit_request(u64 *context)
{
	struct io_kiocb *request = (void *)context[0];
	u64 key = (u64)request, both = pid_and_tid();
	struct ring_state state = {};

	state.call = ring_call(READ(request, opcode));
	state.tid = both;
	state.pid = both >> 32;
	if (state.call == CALL_NONE || !is_watched_process(state.pid))
		return 0;
	state.offset = UNKNOWN;
	if (state.call != CALL_FSYNC)
		state.offset = READ((struct io_rw *)request, kiocb.ki_pos);
	state.began = now();
	map_update(&ring_requests, &key, &state, ANY);
	return 0;
}

SEC("raw_tp/io_uring_complete")
int ring_complete(u64 *context)
{
	u64 key = context[1];
	struct io_kiocb *request = (void *)key;
	struct ring_state *state = map_lookup(&ring_requests, &key);
	struct call_record *record;
	s32 result;

	if (!state)
		return 0;
	result = READ((struct io_uring_cqe *)context[2], res);
	if (result >= 0 && watched_file(READ(request, file), &state->file, &state->mode)) {
		record = reserve(sizeof(*record));
		if (record) {
			record->kind = RECORD_CALL;
			record->call = state->call;
			record->began = state->began;
			record->took = now() - state->began;
			record->tid = state->tid;
			record->pid = state->pid;
			record->file = state->file;
			record->offset = state->offset;
			record->argument = 0;
			record->result = result;
			record->mode = state->mode;
			record->ring = 1;
			ring_submit(record, NO_WAKEUP);
		}
	}
	map_delete(&ring_requests, &key);
	return 0;
}
