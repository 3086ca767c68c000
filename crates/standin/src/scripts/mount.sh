# Mounts what the phone sees, then starts within.sh in namespaces of its own.
# Arguments: root, "folder" or "image", the folder or image.
set -e
root=$1
mount --bind "$root" "$root"
case $2 in
  folder) mount --bind "$3" "$root/data" ;;
  image) mount -o loop "$3" "$root/data" ;;
esac
for dir in local media data local/tmp media/0; do
  mkdir -p "$root/data/$dir"
  chmod 771 "$root/data/$dir"
done
chown 1000:1000 "$root/data"
chmod 771 "$root/data"
chown 2000:2000 "$root/data/local" "$root/data/local/tmp"
chown 2000:1015 "$root/data/media/0"
mount --bind "$root/data/media/0" "$root/storage/emulated/0"
mount --bind "$root/.phone" "$root/.phone"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
# Read-only as on a phone, apart from the mounts above.
mount -o remount,bind,ro "$root"

# Programs of other machines are registered with the kernel for one namespace of users only.
if [ -n "$USERS" ]; then
  exec nsenter --user="/proc/$USERS/ns/user" --setuid 0 --setgid 0 \
    unshare --mount --pid --fork --kill-child sh -c "$WITHIN" within "$root"
fi
exec unshare --mount --pid --fork --kill-child sh -c "$WITHIN" within "$root"
