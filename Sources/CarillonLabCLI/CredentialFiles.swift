import CarillonLab
import Foundation

/// An operator's private key on disk, like Apple's `.p8` file.
struct KeyFile {
    let path: String

    /// Reads the provider key, or makes one that only its owner can read.
    func credentials(keyID: String, teamID: String, topic: String) throws -> LabCredentials {
        guard let pem = read() else {
            let credentials = LabCredentials(keyID: keyID, teamID: teamID, topic: topic)
            try write(credentials.keyPEM)
            return credentials
        }
        return try LabCredentials(keyPEM: pem, keyID: keyID, teamID: teamID, topic: topic)
    }

    /// Reads the VAPID key, or makes one that only its owner can read.
    func vapid() throws -> VAPIDCredentials {
        guard let pem = read() else {
            let vapid = VAPIDCredentials()
            try write(vapid.keyPEM)
            return vapid
        }
        return try VAPIDCredentials(keyPEM: pem)
    }

    private func read() -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func write(_ pem: String) throws {
        let isMade = FileManager.default.createFile(
            atPath: path,
            contents: Data(pem.utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isMade else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    }
}

/// A service account on disk, like Google's file.
struct ServiceAccountFile {
    let path: String

    /// Reads the account if it belongs to the project, or makes one. The lab writes it once it knows its port.
    func account(projectID: String) throws -> FCMServiceAccount {
        guard let data = FileManager.default.contents(atPath: path) else {
            return FCMServiceAccount(projectID: projectID)
        }
        let account = try FCMServiceAccount(json: String(decoding: data, as: UTF8.self))
        return account.projectID == projectID ? account : FCMServiceAccount(projectID: projectID)
    }
}
