# Mounts what belongs to the phone's own processes, and becomes its first process.
# Argument: root.
set -e
root=$1
mount -t proc proc "$root/proc"
# A new name for each boot.
cat /proc/sys/kernel/random/uuid >"$root/.phone/boot_id"
mount --bind "$root/.phone/boot_id" "$root/proc/sys/kernel/random/boot_id"
printf '%s\n' "$UNREADABLE" | while IFS= read -r path; do
  if [ -z "$path" ] || [ ! -e "$root$path" ]; then continue; fi
  hidden=file
  if [ -d "$root$path" ]; then hidden=folder; fi
  mount --bind "$root/.phone/unreadable/$hidden" "$root$path"
done
if [ -n "$RUNNERS" ]; then
  mount -t binfmt_misc binfmt_misc "$root/proc/sys/fs/binfmt_misc"
  printf '%s\n' "$RUNNERS" | while IFS= read -r line; do
    printf '%s' "$line" >"$root/proc/sys/fs/binfmt_misc/register"
  done
fi
# A card, as vold mounts one. Where this kernel has no FAT, a daemon serves exFAT, which ends with the
# phone's other processes.
if [ -n "$VOLUME" ]; then
  [ -d /dev/block ] || mkdir /dev/block
  mount -t tmpfs tmpfs /dev/block
  mkdir /dev/block/vold
  loop=$(losetup --find --show "$IMAGE")
  number=$(cat "/sys/class/block/${loop#/dev/}/dev")
  node=/dev/block/vold/public:${number%:*},${number#*:}
  # A phone's kernel names the format; a daemon's mount does not, so the user shell may look here.
  mknod -m 644 "$node" b "${number%:*}" "${number#*:}"
  card=$root/mnt/media_rw/$VOLUME
  owner=uid=2000,gid=1015
  [ -e "$IMAGE.fat" ] || [ -e "$IMAGE.exfat" ] || { mkfs.vfat "$IMAGE" >"$IMAGE.fat"; }
  flags=dirsync,nodev,nosuid,noexec,noatime
  if [ -e "$IMAGE.exfat" ] || ! mount -t vfat -o "$flags,$owner,fmask=0007,dmask=0007,utf8" "$node" "$card" 2>/dev/null; then
    [ -e "$IMAGE.exfat" ] || { mkfs.exfat "$IMAGE" >"$IMAGE.exfat"; }
    mount.exfat-fuse -o "nodev,nosuid,noexec,$owner,umask=0007" "$node" "$card" >/dev/null 2>&1
  fi
  # The device goes when nothing is mounted on it.
  losetup --detach "$loop"
  mount --bind /dev/block "$root/dev/block"
  mount --bind "$card" "$root/storage/$VOLUME"
  volumes=$root/.phone/sm/list-volumes.txt
  mkdir -p "$root/.phone/sm"
  others=$(grep -v " $VOLUME\$" "$volumes" 2>/dev/null || true)
  printf '%s\npublic:%s mounted %s\n' "$others" "${node##*:}" "$VOLUME" >"$volumes"
fi
# It takes in the processes whose parents have ended, until its input ends.
exec chroot "$root" /system/bin/sh -c 'cd /; echo ready; while read -r line; do :; done'
