/// Which file it is, whatever it is called: what the dynamic linker goes by as well.
struct FileIdentity: Sendable, Hashable {
    var device: UInt64
    var inode: UInt64
}
