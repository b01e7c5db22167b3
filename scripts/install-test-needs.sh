#!/bin/sh
# Installs what the tests need beside Go, when it is missing: a redis-server (or
# valkey-server) of version 6.2 or later, and a C compiler for the race detector.
# Uses the machine's package manager, through sudo when not root; says what to do
# by hand when that is not possible. Changes nothing when all is there.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }

# redis_version prints "7.0" for a server program.
redis_version() { "$1" --version 2>/dev/null | sed -n 's/.*[ =]v=\([0-9]*\.[0-9]*\).*/\1/p'; }

have_redis() {
	for program in redis-server valkey-server; do
		have "$program" || continue
		version=$(redis_version "$program")
		major=${version%%.*} minor=${version#*.}
		[ "${major:-0}" -gt 6 ] && return 0
		[ "${major:-0}" -eq 6 ] && [ "${minor:-0}" -ge 2 ] && return 0
	done
	return 1
}

# Go needs cgo for -race, except on macOS.
have_compiler() { [ "$(uname -s)" = Darwin ] || have "${CC:-gcc}" || have cc || have clang; }

need_redis=1 need_compiler=1
have_redis && need_redis=
have_compiler && need_compiler=
[ -n "$need_redis$need_compiler" ] || exit 0

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif have sudo; then
		sudo "$@"
	else
		echo "not root and no sudo: cannot run: $*" >&2
		return 1
	fi
}

# install_one tries the given package names until one can be installed.
install_one() {
	for package in "$@"; do
		echo "installing $package" >&2
		if install_package "$package"; then return 0; fi
	done
	return 1
}

if have apt-get; then
	as_root apt-get update -q >&2 || true
	install_package() {
		# RUNLEVEL=1: no server started on port 6379 (with SysV scripts).
		as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
			apt-get install -y -q --no-install-recommends "$1" >&2
	}
	redis_packages="redis-server valkey-server" compiler_packages="gcc libc6-dev"
elif have dnf; then
	install_package() { as_root dnf install -y -q "$1" >&2; }
	redis_packages="valkey redis" compiler_packages="gcc"
elif have yum; then
	install_package() { as_root yum install -y -q "$1" >&2; }
	redis_packages="redis valkey" compiler_packages="gcc"
elif have apk; then
	install_package() { as_root apk add --no-progress "$1" >&2; }
	redis_packages="redis valkey" compiler_packages="build-base"
elif have pacman; then
	install_package() { as_root pacman -Sy --noconfirm --needed "$1" >&2; }
	redis_packages="valkey redis" compiler_packages="gcc"
elif have zypper; then
	install_package() { as_root zypper --non-interactive install "$1" >&2; }
	redis_packages="valkey redis" compiler_packages="gcc"
elif have brew; then # refuses root
	install_package() { brew install "$1" >&2; }
	redis_packages="redis valkey" compiler_packages="gcc"
else
	install_package() { return 1; }
	redis_packages="" compiler_packages=""
fi

# shellcheck disable=SC2086 # lists of names
if [ -n "$need_redis" ]; then
	install_one $redis_packages || true
	have_redis || {
		echo "The tests run against a real Redis. Install redis-server 6.2 or later (or Valkey), so that" >&2
		echo "redis-server or valkey-server is on PATH, and call make test again: https://redis.io/docs/latest/operate/oss_and_stack/install/" >&2
		exit 1
	}
fi
# shellcheck disable=SC2086
if [ -n "$need_compiler" ]; then
	for package in $compiler_packages; do install_one "$package" || true; done
	have_compiler || {
		echo "The race detector needs a C compiler. Install gcc or clang and call make test again." >&2
		exit 1
	}
fi
