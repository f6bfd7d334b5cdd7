# Sourced by scripts/dev and scripts/test: says which feature set and profile everything is built with, installs what the
# build needs, and tells how far RocksDB's C++ is while it compiles.

# One feature set and one profile (dev) for running and testing, so that RocksDB is compiled once.
FEATURES=--all-features
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$ROOT/target}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"

say() { printf '\n==> %s\n' "$*" >&2; }
die() { printf '\nerror: %s\n' "$*" >&2; exit 1; }

# apt_install PACKAGE...: installs Debian packages as root or through sudo, or says what to do by hand.
apt_install() {
  local as=()
  command -v apt-get >/dev/null || die "missing: $*. This is no Debian; please install them with your package manager."
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "missing: $*. Not root and no sudo; please run: apt-get install $*"
    # Without a terminal sudo must not wait for a password.
    if [ -t 0 ]; then as=(sudo); else as=(sudo -n); fi
  fi
  say "installing $* (apt-get)"
  "${as[@]}" apt-get update -qq && "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >&2 ||
    die "apt-get could not install $*. Please install them by hand and run this again."
}

has_libclang() {
  local file
  [ -n "${LIBCLANG_PATH:-}" ] && return 0
  for file in /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*-linux-gnu/libclang*.so* /usr/lib64/libclang*.so* \
    /usr/lib64/llvm*/lib/libclang*.so* /usr/local/lib/libclang*.so* /usr/local/opt/llvm/lib/libclang.dylib \
    /opt/homebrew/opt/llvm/lib/libclang.dylib /Library/Developer/CommandLineTools/usr/lib/libclang.dylib; do
    case "$file" in
      *libclang-cpp*) ;;
      *) [ -e "$file" ] && return 0 ;;
    esac
  done
  return 1
}

# The Rust toolchain, a C++ compiler and libclang (RocksDB's bindings are generated with it).
ensure_build_tools() {
  local missing=()
  command -v cargo >/dev/null || die "cargo is missing; please install Rust 1.95 or newer (rust-lang.org) and run this again."
  command -v c++ >/dev/null || missing+=(g++)
  has_libclang || missing+=(libclang-dev)
  [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}

rocksdb_builds() { find "$CARGO_TARGET_DIR/debug/build" -maxdepth 3 -path '*/librocksdb-sys-*/out/librocksdb.a' 2>/dev/null; }

# with_progress COMMAND...: runs a cargo command; while RocksDB compiles for the first time, says how far it is every
# half minute (cargo shows one line for the whole of it).
with_progress() {
  if [ -n "$(rocksdb_builds)" ]; then
    "$@"
    return
  fi
  say "RocksDB's C++ is compiled once, about ten minutes on two cores; later builds don't repeat it."
  rocksdb_ticker &
  local ticker=$! code=0
  "$@" || code=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  return "$code"
}

rocksdb_ticker() {
  # One object file a C++ source; the count is of RocksDB 10 and need not be exact.
  local start=$SECONDS about=345 objects
  while sleep 30; do
    objects=$(find "$CARGO_TARGET_DIR/debug/build" -path '*/librocksdb-sys-*/out/*' -name '*.o' 2>/dev/null | wc -l)
    [ "$objects" -eq 0 ] || [ -n "$(rocksdb_builds)" ] ||
      printf '    RocksDB: %d of about %d C++ files, %d min %02d s\n' "$objects" "$about" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)) >&2
  done
}
