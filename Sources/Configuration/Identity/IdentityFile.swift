import Cipher
import Foundation
import Nostr
import Storage

/// The file with the router's identity: one line, a secret key as 64 hex digits or as `nsec1…`.
package struct IdentityFile {
    package let path: String
    private let owner: (user: uid_t, group: gid_t)?

    /// `owner` becomes the file's owner if root writes it; nil: the current user.
    package init(path: String, owner: (user: uid_t, group: gid_t)? = nil) {
        self.path = path
        self.owner = owner
    }

    package var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// Reads the key in the file.
    ///
    /// Throws if the file cannot be read, is accessible to other users, or contains no key. The error never quotes its
    /// content.
    package func read() throws(Diagnostics) -> KeyPair {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else {
            throw mistake("there is no key; create one with 'carillon keys new'")
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular else {
            throw mistake("expected a file with the router's key")
        }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw mistake("this user cannot read the router's key; it must belong to the user that runs Carillon")
        }
        if let exposure = FileExposure(ofFile: path) {
            throw mistake("the key \(exposure); run: \(exposure.remedy(for: path))")
        }
        do {
            return try KeyPair(secret: KeyFile.parse(String(decoding: data, as: UTF8.self)))
        } catch let error as KeyFileError {
            throw mistake("\(error)")
        } catch {
            throw mistake("expected one line with 64 hex digits or nsec1…")
        }
    }

    /// Creates a key that only our user can read.
    ///
    /// Throws if a file exists already, so that no identity is ever lost, and if the file cannot be written.
    package func create(random: RandomBytes) throws(Diagnostics) -> KeyPair {
        guard let key = try? KeyPair(random: random) else { throw mistake("could not create a key") }
        try write(key)
        return key
    }

    /// Writes a key that only our user can read. Throws like ``create(random:)``.
    package func write(_ key: KeyPair) throws(Diagnostics) {
        let number = NewSecretFile.create(path, Array(KeyFile.text(of: key.secret).utf8), owner: owner)
        guard number == 0 else {
            throw mistake(
                number == EEXIST
                    ? "a file exists already; it was not changed"
                    : "cannot write the key here: \(String(cString: strerror(number)))"
            )
        }
    }

    private func mistake(_ message: String) -> Diagnostics {
        Diagnostics([Diagnostic(file: path, message: message)])
    }
}
