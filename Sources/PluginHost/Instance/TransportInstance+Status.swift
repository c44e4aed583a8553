import Foundation

extension TransportInstance {
    private struct Status: Decodable {
        struct Expiry: Decodable {
            var what: String
            var at: Int64
        }

        var expires: [Expiry]?
    }

    /// What of the credentials ends when, by what the plugin answers to the command `status`; empty for a plugin that does not say.
    ///
    /// Something must go on calling ``expireDeadlines()`` meanwhile.
    package func expiries() async -> [TransportExpiry] {
        guard let answer = try? await command(["status"], within: 5_000) else { return [] }
        return Self.expiries(in: answer)
    }

    /// Of a plugin's answer, which may be anything: the first few, each with a word that a label can hold.
    static func expiries(in answer: String) -> [TransportExpiry] {
        guard let status = try? JSONDecoder().decode(Status.self, from: Data(answer.utf8)) else { return [] }
        var known: Set<String> = []
        return (status.expires ?? []).prefix(16).compactMap { expiry in
            let isWord = expiry.what.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
            }
            guard isWord, (1...40).contains(expiry.what.utf8.count), known.insert(expiry.what).inserted else {
                return nil
            }
            return TransportExpiry(what: expiry.what, at: expiry.at)
        }
    }
}
