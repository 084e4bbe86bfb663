printf() { exit 1; }
eval() { :; }
read() { :; }
export() { :; }
exec 0<&- 1>&- 2>&-
ulimit -f 0
ulimit -u 1
set -e -u -n
