import CarillonLab
import Foundation

/// One request that reached a push service of the lab, from the lab's record.
struct Push {
    let sequence: Int64
    /// The device token or topic it went to.
    let target: String
    /// What the service answered.
    let status: Int64
    /// Why it was refused, or why the device could not read it.
    let complaint: String?
    let headers: [String: String]
    /// What the device reads, decrypted where it was encrypted.
    let payload: JSON
    let wasDecrypted: Bool

    /// Nil where `line` is no record of the lab's.
    init?(line: Substring) {
        guard let record = JSON(parsing: Array(line.utf8)), let sequence = record["sequence"]?.integer else {
            return nil
        }
        self.sequence = sequence
        target = record["target"]?.string ?? ""
        status = record["status"]?.integer ?? 0
        let words = [record["reason"]?.string, record["detail"]?.string].compactMap { $0 }
        complaint = words.isEmpty ? nil : words.joined(separator: ", ")
        payload = record["payload"] ?? .null
        wasDecrypted = record["decrypted"] != nil
        var headers: [String: String] = [:]
        if case .array(let fields) = record["headers"] {
            for field in fields {
                if let name = field[0]?.string, let value = field[1]?.string { headers[name] = value }
            }
        }
        self.headers = headers
    }

    /// What the phone's owner sees of it, else what the app gets, else why it was refused.
    var shown: [String] {
        guard status == 200 else { return ["refused: \(status)"] }
        guard let alert = payload["aps"]?["alert"] else { return [line] }
        return [alert["title"], alert["body"]].compactMap { $0?.string }
    }

    /// On one line, with sorted keys.
    var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(payload)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
