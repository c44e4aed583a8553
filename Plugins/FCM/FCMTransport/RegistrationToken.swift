import PluginKit

/// Google's name for an app on a device: an instance id, a colon and more, all of letters, digits, `-` and `_`. Google keeps
/// its form and length to itself and may change them.
enum RegistrationToken {
    /// In bytes; those of today have some 140 to 170.
    static let lengths = 64...1024

    static func isPlausible(_ text: BorrowedText) -> Bool {
        lengths.contains(text.count)
            && text.bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }
}
