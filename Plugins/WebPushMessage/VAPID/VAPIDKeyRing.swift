import Cipher
package import PluginKit

/// The keys that an operator signs with: the one that apps subscribe with now, and former ones that subscriptions still
/// know.
package struct VAPIDKeyRing: Sendable {
    /// The keys of a configuration block that are read here.
    package static let names: [StaticString] = ["vapid_key_file", "vapid_key", "subject", "old_vapid_key_files"]

    private static let howToMakeAKey = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out vapid.pem"
    private static let formerLimit = 16

    package let subject: VAPIDSubject
    /// The one that apps subscribe with now comes first; there is one at least.
    package let tokens: [VAPIDToken]

    /// Throws for the first mistake: which key it is under, and what was expected.
    package init(_ block: JSONObject) throws(PluginError) {
        let current = try Self.currentKey(block)
        let expected = VAPIDSubject.expectation
        subject = try VAPIDSubject(block.requiredText("subject", expected: expected), under: "subject")
        var tokens = [VAPIDToken(key: current, subject: subject.text)]
        for key in try Self.formerKeys(block) {
            let token = VAPIDToken(key: key, subject: subject.text)
            guard !tokens.contains(where: { $0.publicKey == token.publicKey }) else {
                throw PluginError(
                    "old_vapid_key_files: expected keys that were in use before, found one twice, or the one in use now"
                )
            }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// Nil for a block that says nothing of all this. Throws for the first mistake.
    package static func optional(_ block: JSONObject) throws(PluginError) -> VAPIDKeyRing? {
        for name in names {
            if let value = block[name], !value.isNull { return try VAPIDKeyRing(block) }
        }
        return nil
    }

    /// Which of the tokens is signed with the key whose public half is `text`, in base64url; nil for none.
    package func index(of text: BorrowedText) -> Int? {
        guard text.count <= 128, let point = Base64URL.decode(text.string) ?? Base64.decode(text.string) else {
            return nil
        }
        return tokens.firstIndex { $0.point == point }
    }

    private static func currentKey(_ block: JSONObject) throws(PluginError) -> P256PrivateKey {
        let path = try block.text("vapid_key_file", expected: "the path of a private key in PEM")
        let text = try block.text("vapid_key", expected: "the text of a private key in PEM")
        switch (path, text) {
        case (let path?, nil):
            return try key(ConfigurationFile.read(path, key: "vapid_key_file"), under: "vapid_key_file")
        case (nil, let text?):
            return try key(text, under: "vapid_key")
        case (nil, nil):
            throw PluginError(
                "vapid_key_file: expected the path of a private key in PEM, or its text under vapid_key; found neither; "
                    + "to make one: \(howToMakeAKey)"
            )
        case (.some, .some):
            throw PluginError("vapid_key: expected either vapid_key_file or vapid_key, found both")
        }
    }

    private static func formerKeys(_ block: JSONObject) throws(PluginError) -> [P256PrivateKey] {
        guard let value = block["old_vapid_key_files"], !value.isNull else { return [] }
        let expected = "a list of at most \(formerLimit) paths of private keys in PEM that were in use before"
        guard let elements = value.elements, elements.count <= formerLimit else {
            throw PluginError("old_vapid_key_files: expected \(expected)")
        }
        var keys: [P256PrivateKey] = []
        for element in elements {
            guard let path = element.string else {
                throw PluginError("old_vapid_key_files: expected \(expected), found \(element.kind) in it")
            }
            let pem = try ConfigurationFile.read(path, key: "old_vapid_key_files")
            keys.append(try key(pem, under: "old_vapid_key_files"))
        }
        return keys
    }

    private static func key(_ pem: String, under name: StaticString) throws(PluginError) -> P256PrivateKey {
        do {
            return try P256PrivateKey(pem: pem)
        } catch {
            throw PluginError(
                "\(name): expected a PEM text with a private key on P-256: \(error); to make one: \(howToMakeAKey)"
            )
        }
    }
}
