import CarillonLab
import Foundation

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
