import Cipher
import Foundation

/// A delivery's id as the trace keeps it: 16 bytes where it is a UUID, which it is but in tests.
enum DeliveryName {
    static func data(_ id: String) -> Data {
        guard id.utf8.count == 36, let bytes = Hex.decode(id.filter { $0 != "-" }), bytes.count == 16,
            text(Data(bytes)) == id
        else { return Data(id.utf8) }
        return Data(bytes)
    }

    static func text(_ data: Data) -> String {
        guard data.count == 16 else { return String(decoding: data, as: UTF8.self) }
        var parts: [Substring] = []
        var rest = Hex.encode(Array(data))[...]
        for length in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return parts.joined(separator: "-")
    }
}
