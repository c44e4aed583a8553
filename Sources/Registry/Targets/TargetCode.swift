import Cipher
import Notifications

/// Shows that whoever registers a target reads what is pushed there.
package struct TargetCode: Hashable, Sendable, Concealed {
    /// Crockford's: no letters that are read as digits.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// As in `7Z0KQ-2MXWA`.
    package let text: String

    /// `digest` has ten bytes at least.
    init(digest: [UInt8]) {
        let digits = digest.prefix(10).map { Self.alphabet[Int($0 & 31)] }
        text = String(digits.prefix(5)) + "-" + String(digits.dropFirst(5))
    }

    /// Whether that is what somebody typed who read it.
    func isSpelled(by typed: String) -> Bool {
        let digits = typed.uppercased().compactMap { digit -> Character? in
            switch digit {
            case "O": "0"
            case "I", "L": "1"
            case "-", " ": nil
            default: digit
            }
        }
        return digits.elementsEqual(text.filter { $0 != "-" })
    }
}

/// A code that is to be pushed to a target, by way of the device that has it.
package struct TargetCodeRequest: Hashable, Sendable {
    package let device: DeviceID
    package let route: Route
    package let code: TargetCode
    /// Until when it is good, in milliseconds since 1970.
    package let expiresAt: Int64
}

extension TokenVault {
    private static let day: Int64 = 86_400_000

    /// The code for a target at `now`, in milliseconds since 1970, and until when it is good: until the end of the next
    /// UTC day.
    func code(for target: [UInt8], at now: Int64) -> (TargetCode, expiresAt: Int64) {
        let day = now / Self.day
        return (code(for: target, day: day), (day + 2) * Self.day)
    }

    /// Whether `typed` is a code for the target that is good at `now`, in milliseconds since 1970.
    func isCode(_ typed: String, for target: [UInt8], at now: Int64) -> Bool {
        let day = now / Self.day
        return [day, day - 1].contains { code(for: target, day: $0).isSpelled(by: typed) }
    }
}
