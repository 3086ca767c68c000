/* Records that the programs send to user space: the other end is src/record.rs. Fields lie without gaps,
 * in the machine's byte order. */
#pragma once

enum record_kind {
	RECORD_CALL = 1,
	RECORD_NAME = 2,
	RECORD_TASK = 3,
	RECORD_PATH = 4,
	RECORD_BLOCK = 5,
	RECORD_JOURNAL = 6,
	RECORD_WORK = 7,
};

/* What a system call does, by its number: the table `calls` has one of these for each. */
enum call {
	CALL_NONE = 0,
	CALL_OPEN = 1, /* openat(directory, path, flags) */
	CALL_OPEN_PLAIN = 2, /* open(path, flags) */
	CALL_OPEN_HOW = 3, /* openat2(directory, path, how) */
	CALL_CLOSE = 4,
	CALL_READ = 5,
	CALL_PREAD = 6,
	CALL_WRITE = 7,
	CALL_PWRITE = 8,
	CALL_FSYNC = 9,
	CALL_FDATASYNC = 10,
	CALL_SYNC_RANGE = 11,
	CALL_SYNCFS = 12,
	CALL_SYNC = 13,
	CALL_FTRUNCATE = 14,
	CALL_TRUNCATE = 15, /* truncate(path, size) */
	CALL_UNLINK = 16, /* unlink(path) */
	CALL_UNLINKAT = 17, /* unlinkat(directory, path) */
	CALL_RENAME = 18, /* rename(path, path) */
	CALL_RENAMEAT = 19, /* renameat(directory, path, directory, path) */
	CALL_MMAP = 20, /* mmap(address, size, protection, flags, file) */
	CALL_MSYNC = 21,
	CALL_COPY_RANGE = 22, /* copy_file_range(from, offset, to, offset) */
	CALL_SENDFILE = 23, /* sendfile(to, from) */
	CALL_CREAT = 24, /* creat(path) */
};

/* What tells a file apart for as long as its inode lives. */
struct file_id {
	u64 inode;
	u32 device;
	u32 generation;
};

/* One system call, or one request of io_uring, that touched storage. */
struct call_record {
	u32 kind;
	u32 call;
	u64 began;
	u64 took;
	u32 tid;
	u32 pid;
	struct file_id file;
	u64 offset;
	u64 argument; /* flags of an open, size of a truncate */
	s64 result;
	u32 mode;
	u32 ring; /* 1 for io_uring */
};

/* One component of a file's path, from its name upwards. */
struct name_record {
	u32 kind;
	u32 depth;
	struct file_id file;
	u32 last; /* 1: the root of its filesystem */
	u32 length;
	char text[256];
};

struct task_record {
	u32 kind;
	u32 tid;
	u32 pid;
	u32 pad;
	char thread[16];
	char process[16];
};

/* A call on a path instead of an open file: `directory` is what a relative path begins at. */
struct path_record {
	u32 kind;
	u32 call;
	u64 began;
	u64 took;
	u32 tid;
	u32 pid;
	struct file_id directory;
	struct file_id to_directory;
	u64 argument;
	s32 length;
	s32 to_length;
	char text[512];
	char to_text[512];
};

struct block_record {
	u32 kind;
	u32 operation;
	u64 issued;
	u64 took;
	u64 queued; /* ~0: not known */
	u64 sector;
	u32 bytes;
	u32 device; /* the whole disk */
	u32 flags; /* of enum block_flag */
	u32 tid;
	u32 pid;
	u32 pad;
	char thread[16];
};
enum block_flag {
	FLAG_SYNC = 1,
	FLAG_META = 2,
	FLAG_FUA = 4,
	FLAG_PREFLUSH = 8,
	FLAG_AHEAD = 16,
};

/* A commit of the journal: the thread's name has the device's. */
struct journal_record {
	u32 kind;
	u32 tid;
	u64 began;
	u64 took;
	char thread[16];
};

/* A checkpoint or a cleaning of F2FS. */
struct work_record {
	u32 kind;
	u32 work; /* of enum work */
	u64 began;
	u64 took;
	u32 device; /* the filesystem's */
	u32 tid;
	u32 pid;
	u32 pad;
	char thread[16];
};
enum work {
	WORK_CHECKPOINT = 1,
	WORK_CLEANING = 2,
};

/* Counters, in the order of the map `counts`. */
enum count {
	COUNT_RING_FULL, /* records that found no place */
	COUNT_THREADS_FULL, /* calls that no thread's slot was left for */
	COUNT_REQUESTS_FULL, /* block requests, likewise */
	COUNT_PROCESSES_FULL, /* processes that could not be followed */
	COUNT_COMPAT, /* calls of 32-bit programs */
	COUNTS,
};
