import Glibc

/// A log record as the journal takes it: fields in one datagram.
struct JournalEntry {
    /// Longer values are cut: a datagram has its limits, and a log line should have some as well.
    private static let longestValue = 8_192
    private static let longestEntry = 48 * 1_024
    private static let longestName = 64

    private(set) var bytes: [UInt8] = []

    init(_ record: LogRecord, identifier: String) {
        let pairs = record.fields.map { " \($0.key)=\($0.value)" }.joined()
        // What journalctl shows by itself is the message alone.
        add("MESSAGE", record.message + pairs)
        add("PRIORITY", "\(record.level.priority)")
        add("SYSLOG_IDENTIFIER", identifier)
        add("CARILLON_COMPONENT", record.component)
        add("CARILLON_EVENT", record.message)
        var names: Set = ["CARILLON_COMPONENT", "CARILLON_EVENT"]
        for (key, value) in record.fields {
            let name = Self.name(of: key)
            guard names.insert(name).inserted, bytes.count < Self.longestEntry else { continue }
            add(name, value)
        }
    }

    /// Upper-case letters, digits and `_`, as the journal wants them.
    static func name(of key: String) -> String {
        let letters = key.uppercased().utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            default: UInt8(ascii: "_")
            }
        }
        return String(("CARILLON_" + String(decoding: letters, as: UTF8.self)).prefix(longestName))
    }

    private mutating func add(_ name: String, _ value: String) {
        let value = Array(value.utf8.prefix(Self.longestValue))
        bytes += name.utf8
        if value.contains(UInt8(ascii: "\n")) {
            // With its length in front (systemd's "Native Journal Protocol").
            bytes.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes += $0 }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes += value
        bytes.append(UInt8(ascii: "\n"))
    }
}

/// The journal's socket.
final class JournalSocket: Sendable {
    static let path = "/run/systemd/journal/socket"

    private let descriptor: Int32

    /// Nil where no journal listens.
    init?(path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// False where the journal does not take it at once: nobody is to wait for it.
    func send(_ entry: JournalEntry) -> Bool {
        entry.bytes.withUnsafeBytes { bytes in
            Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                == bytes.count
        }
    }
}
