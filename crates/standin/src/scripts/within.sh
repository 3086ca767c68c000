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
# It takes in the processes whose parents have ended, until its input ends.
exec chroot "$root" /system/bin/sh -c 'cd /; echo ready; while read -r line; do :; done'
