import CarillonLab
import Cipher
import Foundation

/// One notification that reached a push service of the lab, from the lab's record.
struct Push {
    let sequence: Int64
    /// The device token, topic or subscription it went to.
    let target: String
    /// What the service answered.
    let status: Int64
    /// Why it was refused, or why the device could not read it.
    let complaint: String?
    let headers: [String: String]
    /// All that the push service got: path, headers and body, as they were sent.
    let wire: [UInt8]
    /// What the device reads, decrypted where it was encrypted.
    let payload: JSON
    let wasDecrypted: Bool

    /// Nil for what is no notification: the router's request for an access token.
    init?(_ record: JSON) {
        guard let sequence = record["sequence"]?.integer, record["service"]?.string != LabService.oauth.rawValue else {
            return nil
        }
        self.sequence = sequence
        target = record["target"]?.string ?? ""
        status = record["status"]?.integer ?? 0
        let words = [record["reason"]?.string, record["detail"]?.string].compactMap { $0 }
        complaint = words.isEmpty ? nil : words.joined(separator: ", ")
        payload = record["payload"] ?? .null
        wasDecrypted = record["decrypted"] != nil || record["decrypted_base64"] != nil
        var headers: [String: String] = [:]
        if case .array(let fields) = record["headers"] {
            for field in fields {
                if let name = field[0]?.string, let value = field[1]?.string { headers[name] = value }
            }
        }
        self.headers = headers
        let texts = [record["path"]?.string ?? "", record["body"]?.string ?? ""] + headers.map { "\($0): \($1)" }
        wire = Array(texts.joined(separator: "\n").utf8) + (record["body_base64"]?.string.flatMap(Base64.decode) ?? [])
    }

    var isAccepted: Bool { (200..<300).contains(status) }

    /// On one line, with sorted keys.
    var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(payload)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
