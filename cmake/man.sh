# man.sh HEED DIR: writes the manual pages that the command prints to DIR: heed.1, and heed-COMMAND.1 of each command.
set -eu
rm -rf "$2"
mkdir -p "$2"
"$1" docs man >"$2/heed.1"
for command in $("$1" docs commands); do "$1" docs man "$command" >"$2/heed-$command.1"; done
