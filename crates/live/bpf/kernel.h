/* What the programs need of the kernel: helpers by their numbers, and of each structure only the fields
 * that are read. Offsets of fields are found at load time from the running kernel's BTF (CO-RE). */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define CORE __attribute__((preserve_access_index))
#define NULL ((void *)0)

/* A map, in the form that loaders find in the object's BTF. */
#define __uint(name, value) int (*name)[value]
#define __type(name, value) value *name

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PERCPU_ARRAY = 6, MAP_LRU_HASH = 9, MAP_RINGBUF = 27 };

/* Numbers of helpers are part of the kernel's stable interface (include/uapi/linux/bpf.h). */
static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*now)(void) = (void *)5;
static u64 (*pid_and_tid)(void) = (void *)14;
static long (*current_name)(void *to, u32 size) = (void *)16;
static u64 (*current_task)(void) = (void *)35;
static long (*read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*read_user_text)(void *to, u32 size, const void *from) = (void *)114;
static long (*read_kernel_text)(void *to, u32 size, const void *from) = (void *)115;
static void *(*ring_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*ring_submit)(void *record, u64 flags) = (void *)132;

/* The reader looks at the ring at its own times: waking it for each record costs more than the record. */
enum { NO_WAKEUP = 1, ANY = 0 };

/* A field of a kernel's structure. The structures below have CORE: an address of a field is relocated. */
#define READ(pointer, field)                                               \
	({                                                                 \
		__typeof__(pointer) at_ = (pointer);                       \
		__typeof__(at_->field) value_ = 0;                         \
		read_kernel(&value_, sizeof(value_), &at_->field);         \
		value_;                                                    \
	})
#define EXISTS(pointer, field) __builtin_preserve_field_info((pointer)->field, 2)
#define ENUM_VALUE(type, name) __builtin_preserve_enum_value(*(type *)name, 1)

struct qstr {
	union {
		struct {
			u32 hash;
			u32 len;
		};
		u64 hash_len;
	};
	const char *name;
} CORE;
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
} CORE;
struct block_device {
	u32 bd_dev;
} CORE;
struct super_block {
	u32 s_dev;
} CORE;
struct inode {
	u16 i_mode;
	unsigned long i_ino;
	u32 i_generation;
	u32 i_rdev;
	s64 i_size;
	struct super_block *i_sb;
} CORE;
struct path {
	struct dentry *dentry;
} CORE;
struct file {
	struct inode *f_inode;
	struct path f_path;
	s64 f_pos;
	u32 f_flags;
} CORE;
struct fdtable {
	u32 max_fds;
	struct file **fd;
} CORE;
struct files_struct {
	struct fdtable *fdt;
} CORE;
struct fs_struct {
	struct path pwd;
} CORE;
struct thread_info {
	u32 status;
} CORE;
struct task_struct {
	struct thread_info thread_info;
	struct files_struct *files;
	struct fs_struct *fs;
	struct task_struct *group_leader;
	s32 pid;
	s32 tgid;
	char comm[16];
} CORE;

struct gendisk {
	s32 major;
	s32 first_minor;
} CORE;
struct request_queue {
	struct gendisk *disk;
} CORE;
struct bio {
	u32 bi_opf;
} CORE;
struct request {
	struct request_queue *q;
	struct bio *bio;
	u32 cmd_flags;
	u32 __data_len;
	u64 __sector;
	u64 start_time_ns;
} CORE;
/* Before Linux 5.17 the request itself knew its disk. */
struct request___old {
	struct gendisk *rq_disk;
} CORE;
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
};

struct io_cqe {
	s32 fd;
} CORE;
struct io_kiocb {
	struct file *file;
	u8 opcode;
	struct io_cqe cqe;
} CORE;
struct kiocb {
	s64 ki_pos;
} CORE;
struct io_rw {
	struct kiocb kiocb;
} CORE;
struct io_uring_cqe {
	s32 res;
} CORE;
enum io_uring_op {
	IORING_OP_READV = 1,
	IORING_OP_WRITEV = 2,
	IORING_OP_FSYNC = 3,
	IORING_OP_READ_FIXED = 4,
	IORING_OP_WRITE_FIXED = 5,
	IORING_OP_READ = 22,
	IORING_OP_WRITE = 23,
};
