import CarillonLab
import Foundation

/// An operator's private key on disk, like the `.p8` Apple hands out once.
struct KeyFile {
    let path: String

    /// Reads the provider key that is there, or makes one, readable by its owner only.
    func credentials(keyID: String, teamID: String, topic: String) throws -> LabCredentials {
        guard let pem = read() else {
            let credentials = LabCredentials(keyID: keyID, teamID: teamID, topic: topic)
            try write(credentials.keyPEM)
            return credentials
        }
        return try LabCredentials(keyPEM: pem, keyID: keyID, teamID: teamID, topic: topic)
    }

    /// Reads the VAPID key that is there, or makes one, readable by its owner only.
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

/// The service account on disk, like the file that Google hands out once.
struct ServiceAccountFile {
    let path: String

    /// Reads the account that is there, if it is of this project, or makes one; the lab writes it when it knows its port.
    func account(projectID: String) throws -> FCMServiceAccount {
        guard let data = FileManager.default.contents(atPath: path) else {
            return FCMServiceAccount(projectID: projectID)
        }
        let account = try FCMServiceAccount(json: String(decoding: data, as: UTF8.self))
        return account.projectID == projectID ? account : FCMServiceAccount(projectID: projectID)
    }
}
