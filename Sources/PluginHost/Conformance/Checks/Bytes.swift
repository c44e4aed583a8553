import Glibc

/// Looks for bytes in bytes.
enum Bytes {
    static func contain(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
        guard let first = part.first else { return false }
        return bytes.withUnsafeBytes { bytes in
            part.withUnsafeBytes { part in
                guard var cursor = bytes.baseAddress, let wanted = part.baseAddress else { return false }
                let end = cursor + bytes.count
                while end - cursor >= part.count, let found = memchr(cursor, Int32(first), end - cursor) {
                    cursor = UnsafeRawPointer(found)
                    if end - cursor >= part.count, memcmp(cursor, wanted, part.count) == 0 { return true }
                    cursor += 1
                }
                return false
            }
        }
    }
}
