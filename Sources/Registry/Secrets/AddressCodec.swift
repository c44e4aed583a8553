import Core
import Push

/// The binary encoding of a ``DeviceAddress`` before it is sealed: strings with their lengths, because every delivery
/// attempt decodes one.
enum AddressCodec {
    static func encode(_ address: DeviceAddress) -> [UInt8] {
        var bytes = withUnsafeBytes(of: address.registeredAt.milliseconds.littleEndian) { Array($0) }
        append(address.platform, to: &bytes)
        append(address.app, to: &bytes)
        append(address.token, to: &bytes)
        for (name, value) in address.fields.sorted(by: { $0.key < $1.key }) {
            append(name, to: &bytes)
            append(value, to: &bytes)
        }
        return bytes
    }

    /// Returns nil if `bytes` are not an encoded address.
    static func decode(_ bytes: [UInt8]) -> DeviceAddress? {
        guard bytes.count >= 8 else { return nil }
        let registeredAt = bytes.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
        var rest = bytes[8...]
        guard let platform = text(&rest), let app = text(&rest), let token = text(&rest) else { return nil }
        var fields: [String: String] = [:]
        while !rest.isEmpty {
            guard let name = text(&rest), let value = text(&rest) else { return nil }
            fields[name] = value
        }
        return DeviceAddress(
            platform: platform,
            app: app,
            token: token,
            fields: fields,
            registeredAt: Timestamp(milliseconds: registeredAt)
        )
    }

    /// Appends a string after its length in two bytes. Strings of registrations are far below 64 KiB.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        precondition(text.utf8.count <= Int(UInt16.max), "a field of an address is bounded when it is read")
        bytes.append(UInt8(truncatingIfNeeded: text.utf8.count))
        bytes.append(UInt8(truncatingIfNeeded: text.utf8.count >> 8))
        bytes.append(contentsOf: text.utf8)
    }

    private static func text(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let low = rest.popFirst(), let high = rest.popFirst() else { return nil }
        let count = Int(low) | Int(high) << 8
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return String(decoding: rest.prefix(count), as: UTF8.self)
    }
}
