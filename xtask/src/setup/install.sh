#!/bin/sh
# Installs the Debian packages that it is given, without letting them start services of their own.
#
# Debian asks /usr/sbin/policy-rc.d before a package starts its service; 101 means "no". What was
# there before is put back however this ends; after a kill -9, when this is next run.
set -eu

policy=/usr/sbin/policy-rc.d
kept=$policy.kept-by-idempotent
ours='# placed by cargo xtask setup (idempotent) while it installs'

put_back() {
    if [ -e "$kept" ] || [ -L "$kept" ]; then
        mv -f "$kept" "$policy"
    elif grep -qsF "$ours" "$policy"; then
        rm -f "$policy"
    fi
}

# Two at once would take each other's answer for what was there before.
if command -v flock >/dev/null; then
    exec 9>/run/lock/idempotent-setup.lock
    flock 9
fi

put_back
trap put_back EXIT
trap 'exit 130' HUP INT TERM

if [ -e "$policy" ] || [ -L "$policy" ]; then
    mv "$policy" "$kept"
fi
printf '#!/bin/sh\n%s\nexit 101\n' "$ours" >"$policy"
chmod 755 "$policy"

units=$*
if ! dpkg -s erlang-base >/dev/null 2>&1; then
    units="$units epmd.service epmd.socket"
fi

export DEBIAN_FRONTEND=noninteractive
# An outdated list may still do, so a failure here is left to the installation.
apt-get -qq -o DPkg::Lock::Timeout=300 update || true
apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
    install -y --no-install-recommends "$@" </dev/null

# What these packages bring was not here before, so nor does the machine's next start need it.
if command -v systemctl >/dev/null; then
    for unit in $units; do
        systemctl --quiet disable "$unit" >/dev/null 2>&1 || true
    done
fi
