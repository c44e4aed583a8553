import Cipher
import Foundation

/// Words of header values that are not ASCII (RFC 2047): `=?UTF-8?B?w6k=?=`.
enum RFC2047 {
    static func decode(_ text: String) -> String {
        // Blanks between two such words belong to neither (section 6.2).
        text.replacing(/\?=\s+=\?/, with: "?==?").replacing(/=\?(?i:utf-8)\?([BbQq])\?([^?\s]*)\?=/) { match in
            let bytes = match.1.lowercased() == "b" ? Base64.decode(String(match.2)) : quotedPrintable(match.2)
            return bytes.flatMap { String(validating: $0, as: UTF8.self) } ?? String(match.0)
        }
    }

    private static func quotedPrintable(_ text: Substring) -> [UInt8]? {
        text.replacing("_", with: " ").replacing("=", with: "%").removingPercentEncoding.map { Array($0.utf8) }
    }
}
