import PluginKit

/// An address as people write it: a local part without quotes, and a domain. It cannot end a line, a path or a
/// parameter of SMTP (RFC 5321 section 4.1.2, RFC 6531 section 3.3).
struct EmailAddress: Sendable, Hashable {
    /// In bytes.
    static let limit = 254
    private static let localLimit = 64

    let local: String
    let domain: String

    /// Nil when `text` is no such address.
    init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= EmailAddress.limit else { return nil }
        (local, domain) = (String(parts[0]), String(parts[1]))
        guard EmailAddress.isLocalPart(parts[0]), EmailAddress.isDomain(parts[1]) else { return nil }
    }

    /// `local@domain`.
    var text: String { "\(local)@\(domain)" }

    /// Whether the mail server has to know SMTPUTF8 (RFC 6531).
    var needsUTF8: Bool { !text.utf8.allSatisfy { $0 < 0x80 } }

    /// Atoms with dots between. `!` and `%` once meant routes through other servers.
    private static func isLocalPart(_ part: Substring) -> Bool {
        (1...localLimit).contains(part.utf8.count)
            && part.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
                !atom.isEmpty
                    && atom.unicodeScalars.allSatisfy { scalar in
                        guard scalar.isASCII else { return isReadable(scalar) }
                        let byte = UInt8(truncatingIfNeeded: scalar.value)
                        return byte.isASCIILetterOrDigit || byte.isOne(of: "#$&'*+-/=?^_`{|}~")
                    }
            }
    }

    /// Two labels at least. No address in brackets, which would lead anywhere.
    private static func isDomain(_ part: Substring) -> Bool {
        let labels = part.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last, !last.utf8.allSatisfy(\.isASCIIDigit) else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.unicodeScalars.allSatisfy { scalar in
                    guard scalar.isASCII else { return isReadable(scalar) }
                    let byte = UInt8(truncatingIfNeeded: scalar.value)
                    return byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-")
                }
        }
    }

    private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse,
            .unassigned:
            false
        default: true
        }
    }
}
