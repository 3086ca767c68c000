use flashlag_schema::{
    Cpu, Device, DeviceLife, Encryption, Environment, Filesystem, PressureStall, Queue, Software,
};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

fn text(value: &str) -> Reading<String> {
    Reading::Value(value.to_owned())
}

/// An invented tablet.
pub fn tablet() -> Environment {
    let gb = |count: u64| Reading::Value(Bytes::from_mb(count * 1000));
    let pressure = |avg10_hundredths| PressureStall { avg10_hundredths, total_ns: Nanos(0) };
    Environment {
        software: Software {
            kernel: text("Linux 5.10.0-sample aarch64"),
            system: text("Sample OS 13"),
            machine: text("Sample Tablet T"),
            virtualized: Reading::Value(false),
        },
        cpu: Cpu {
            model: text("Sample A53"),
            count: Reading::Value(4),
            governor: text("performance"),
            pressure_before: Reading::Value(pressure(12)),
            pressure_after: Reading::Value(pressure(48)),
            load_before_hundredths: Reading::Value(21),
        },
        memory_bytes: gb(3),
        filesystem: Filesystem {
            kind: text("f2fs"),
            mount_point: text("/data"),
            source: text("/dev/mmcblk0p42"),
            options: Reading::Value(
                ["rw", "noatime", "nodiscard", "fsync_mode=posix"].map(str::to_owned).to_vec(),
            ),
            read_only: None,
            quotas: Vec::new(),
            total_bytes: gb(29),
            free_bytes: gb(26),
            block_bytes: Reading::Value(Bytes(4096)),
            layers: Vec::new(),
        },
        device: Device {
            name: text("mmcblk0"),
            kind: text("emmc"),
            model: text("SAMPLE32"),
            firmware: text("0x1"),
            size_bytes: gb(32),
            queue: Queue {
                write_cache: text("write back"),
                fua: Reading::Value(false),
                scheduler: text("mq-deadline"),
                rotational: Reading::Value(false),
                logical_block_bytes: Reading::Value(Bytes(512)),
                physical_block_bytes: Reading::Value(Bytes(4096)),
                discard_max_bytes: gb(2),
                requests: Reading::Value(64),
            },
            life: Reading::Value(DeviceLife {
                used_percent_at_most: 40,
                pre_eol: Some("normal".to_owned()),
                source: "eMMC EXT_CSD".to_owned(),
                written_bytes: None,
            }),
            stack: Vec::new(),
        },
        encryption: Reading::Value(Encryption {
            kind: "fscrypt".to_owned(),
            cipher: Some("AES-256-XTS".to_owned()),
        }),
        storage_temperature_millicelsius: Reading::unavailable("no temperature sensor"),
        cpu_temperature_millicelsius: Reading::Value((38_000, 44_000)),
        ..Environment::default()
    }
}

/// An invented phone: UFS, mounted with discard.
pub fn phone() -> Environment {
    let mut environment = tablet();
    environment.software.machine = text("Sample Phone P");
    environment.cpu.count = Reading::Value(8);
    environment.memory_bytes = Reading::Value(Bytes::from_mb(8_000));
    environment.filesystem.options = Reading::Value(
        ["rw", "noatime", "discard", "fsync_mode=posix"].map(str::to_owned).to_vec(),
    );
    environment.device.kind = text("ufs");
    environment.device.model = text("SAMPLE256");
    environment.device.size_bytes = Reading::Value(Bytes::from_mb(256_000));
    environment.device.life = Reading::Value(DeviceLife {
        used_percent_at_most: 10,
        pre_eol: Some("normal".to_owned()),
        source: "UFS health descriptor".to_owned(),
        written_bytes: None,
    });
    environment
}

/// An invented board: a microSD card with ext4, not encrypted.
pub fn board() -> Environment {
    let mut environment = tablet();
    environment.software.machine = text("Sample Board S");
    environment.filesystem.kind = text("ext4");
    environment.filesystem.options =
        Reading::Value(["rw", "noatime", "data=ordered"].map(str::to_owned).to_vec());
    environment.device.kind = text("sd");
    environment.device.model = text("SAMPLE64");
    environment.device.size_bytes = Reading::Value(Bytes::from_mb(64_000));
    environment.device.life = Reading::unavailable("the card does not tell");
    environment.encryption =
        Reading::Value(Encryption { kind: "none seen".to_owned(), cipher: None });
    environment
}

/// An invented directory in memory.
pub fn memory() -> Environment {
    let mut environment = tablet();
    environment.software.machine = text("Sample Board S");
    environment.filesystem = Filesystem {
        kind: text("tmpfs"),
        mount_point: text("/tmp"),
        source: text("tmpfs"),
        options: Reading::Value(vec!["rw".to_owned()]),
        read_only: None,
        quotas: Vec::new(),
        total_bytes: Reading::Value(Bytes::from_mb(2000)),
        free_bytes: Reading::Value(Bytes::from_mb(1900)),
        block_bytes: Reading::Value(Bytes(4096)),
        layers: Vec::new(),
    };
    environment.device = Device {
        name: Reading::unavailable("tmpfs is held in memory"),
        kind: Reading::unavailable("tmpfs is held in memory"),
        ..Device::default()
    };
    environment
}
