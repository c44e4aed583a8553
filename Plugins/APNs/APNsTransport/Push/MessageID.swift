import PluginKit

/// The value of `apns-id`: Apple refuses anything but a canonical UUID.
enum MessageID {
    /// 32 lower-case hex digits in groups of 8-4-4-4-12.
    static func isCanonical(_ text: BorrowedText) -> Bool {
        guard text.count == 36 else { return false }
        for (index, byte) in text.bytes.enumerated() {
            let isHyphen = index == 8 || index == 13 || index == 18 || index == 23
            switch byte {
            case UInt8(ascii: "-"): guard isHyphen else { return false }
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                guard !isHyphen else { return false }
            default: return false
            }
        }
        return true
    }
}
