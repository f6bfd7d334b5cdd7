# Sourced by the scripts beside it and by .ci/run: installs what a build needs and finds or compiles RocksDB's static library.

# Everything but RocksDB's users is compiled alike with and without it.
FEATURES=--all-features
FEATURES_IN_MEMORY="--features server"
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$ROOT/target}"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"

say() { printf '\n==> %s\n' "$*" >&2; }
die() { printf '\nerror: %s\n' "$*" >&2; exit 1; }

# apt_install PACKAGE...: installs Debian packages as root or through sudo, or says what to install.
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
    die "apt-get could not install $*. Please install them yourself and run this again."
}

# The Rust toolchain, and a C compiler and Perl for the allocator and Keccak in assembly.
ensure_build_tools() {
  local missing=()
  command -v cargo >/dev/null || die "cargo is missing; please install Rust 1.95 or newer (rust-lang.org) and run this again."
  command -v cc >/dev/null || missing+=(gcc libc6-dev)
  command -v perl >/dev/null || missing+=(perl)
  [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
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

# Exports ROCKSDB_LIB_DIR and ROCKSDB_STATIC, which every cargo profile and every checkout of this user then links. The library is
# compiled when there is none of the version in Cargo.lock. A ROCKSDB_LIB_DIR that is set already is left alone.
ensure_rocksdb() {
  local missing=() version library
  command -v c++ >/dev/null || missing+=(g++)
  has_libclang || missing+=(libclang-dev)
  [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
  [ -z "${ROCKSDB_LIB_DIR:-}" ] || return 0
  version=$(sed -n '/^name = "librocksdb-sys"$/{n;s/^version = "\(.*\)"$/\1/p}' "$ROOT/Cargo.lock")
  library="$(rocksdb_home)/$version"
  [ -e "$library/librocksdb.a" ] || compile_rocksdb "$library" || return
  export ROCKSDB_LIB_DIR="$library" ROCKSDB_STATIC=1
}

rocksdb_home() { printf '%s\n' "${CHAINBOX_ROCKSDB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/chainbox/rocksdb}"; }

# compile_rocksdb FOLDER: leaves librocksdb.a in the folder, whole or not at all.
compile_rocksdb() {
  local library=$1 build ticker code=0
  build="$(rocksdb_home)/build.$$"
  mkdir -p "$build" "$library"
  say "RocksDB's C++ is compiled once, about ten minutes on two cores; later builds link the library in $library."
  rocksdb_ticker "$build" &
  ticker=$!
  cargo build --manifest-path "$ROOT/scripts/rocksdb/Cargo.toml" --release --locked --target-dir "$build" || code=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [ "$code" -eq 0 ]; then
    cp "$build"/release/build/librocksdb-sys-*/out/librocksdb.a "$library/librocksdb.a.$$" &&
      mv "$library/librocksdb.a.$$" "$library/librocksdb.a" || code=1
  fi
  rm -rf "$build"
  return "$code"
}

# Says every half minute how far the compilation is: cargo shows one line for the whole of it.
rocksdb_ticker() {
  # One object file a C++ source; the count is of RocksDB 11 and need not be exact.
  local build=$1 start=$SECONDS about=350 objects
  while sleep 30; do
    objects=$(find "$build" -path '*/librocksdb-sys-*/out/*' -name '*.o' 2>/dev/null | wc -l)
    printf '    RocksDB: %d of about %d C++ files, %d min %02d s\n' "$objects" "$about" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)) >&2
  done
}
