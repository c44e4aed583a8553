import CarillonLab
import Foundation

/// The provider's private key on disk, like the `.p8` Apple hands out once.
struct KeyFile {
    let path: String

    /// Reads the key that is there, or makes one, readable by its owner only.
    func credentials(keyID: String, teamID: String, topic: String) throws -> LabCredentials {
        if let data = FileManager.default.contents(atPath: path) {
            return try LabCredentials(
                keyPEM: String(decoding: data, as: UTF8.self),
                keyID: keyID,
                teamID: teamID,
                topic: topic
            )
        }
        let credentials = LabCredentials(keyID: keyID, teamID: teamID, topic: topic)
        let isMade = FileManager.default.createFile(
            atPath: path,
            contents: Data(credentials.keyPEM.utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isMade else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
        return credentials
    }
}
