# sh cover.sh FILE ... -- COMMAND ...
# Makes each file or folder that is (still) there look empty, in a mount namespace of its own, and
# becomes the command.
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then
        mount -t tmpfs -o size=1m,mode=755 none "$1" || exit
    elif [ -e "$1" ]; then
        mount --bind /dev/null "$1" || exit
    fi
    shift
done
shift
exec "$@"
