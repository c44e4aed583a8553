import PluginKit

/// Apple's name for an app on a device: hex digits, of a length that Apple keeps to itself and may change.
enum DeviceToken {
    static let lengths = 64...256

    /// For errors.
    static let description = "an even number of hex digits from \(lengths.lowerBound) to \(lengths.upperBound)"

    static func isValid(_ text: BorrowedText) -> Bool {
        lengths.contains(text.count) && text.count.isMultiple(of: 2)
            && text.bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    true
                default: false
                }
            }
    }
}
