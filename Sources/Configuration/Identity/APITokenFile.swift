import Cipher
import Console
import Foundation
import Storage

/// The file with the API's token: one line.
package struct APITokenFile {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    package var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// Reads the token in the file.
    ///
    /// Throws if the file cannot be read, is accessible to other users, or contains no token. The error never quotes
    /// its content.
    package func read() throws(Diagnostics) -> APIToken { try content().token }

    /// Returns the token as text, for commands that display it.
    package func text() throws(Diagnostics) -> String { try content().text }

    private func content() throws(Diagnostics) -> (token: APIToken, text: String) {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else {
            throw mistake("there is no token; the router creates one when it starts")
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular else {
            throw mistake("expected a file with the API's token")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw mistake("this user cannot read the API's token")
        }
        if let exposure = FileExposure(ofFile: path) {
            throw mistake("the token \(exposure); run: \(exposure.remedy(for: path))")
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let token = APIToken(text) else {
            throw mistake(
                "expected one line with a token of at least \(APIToken.leastBytes) letters, digits and signs;"
                    + " remove the file, and the router creates one"
            )
        }
        return (token, text)
    }

    /// Reads the token, or creates one that only our user can read. Throws if both fail.
    package func readOrCreate(random: RandomBytes) throws(Diagnostics) -> APIToken {
        guard exists else {
            let number = NewSecretFile.create(path, Array((APIToken.make(random: random) + "\n").utf8))
            guard number == 0 || number == EEXIST else {
                throw mistake("cannot write the API's token here: \(String(cString: strerror(number)))")
            }
            return try read()
        }
        NewSecretFile.removeRemains(of: path)
        return try read()
    }

    private func mistake(_ message: String) -> Diagnostics {
        Diagnostics([Diagnostic(file: path, message: message)])
    }
}
