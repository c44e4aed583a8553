import GRDB
import Notifications

/// Why the registry's database cannot be used. It is never repaired or emptied on the router's own account.
package struct RegistryStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Code: Hashable {
        case damaged(path: String)
        case newerSchema(path: String)
        case notDurable(path: String)
        case anotherIdentity(path: String)
        case unreadableSeal(DeviceID)
        case tooManyRoutes
        case cannotOpen(path: String)
        case failed(path: String, code: Int32)
    }

    private let code: Code

    private init(_ code: Code) {
        self.code = code
    }

    static func damaged(path: String) -> RegistryStoreError { RegistryStoreError(.damaged(path: path)) }
    static func newerSchema(path: String) -> RegistryStoreError { RegistryStoreError(.newerSchema(path: path)) }
    static func notDurable(path: String) -> RegistryStoreError { RegistryStoreError(.notDurable(path: path)) }
    static func anotherIdentity(path: String) -> RegistryStoreError { RegistryStoreError(.anotherIdentity(path: path)) }
    static func unreadableSeal(_ device: DeviceID) -> RegistryStoreError { RegistryStoreError(.unreadableSeal(device)) }
    static let tooManyRoutes = RegistryStoreError(.tooManyRoutes)

    /// An error of SQLite's without its statement and values, which are none of a log's business.
    init(_ error: DatabaseError, path: String) {
        switch error.resultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: code = .damaged(path: path)
        case .SQLITE_CANTOPEN: code = .cannotOpen(path: path)
        default: code = .failed(path: path, code: error.extendedResultCode.rawValue)
        }
    }

    package var description: String {
        switch code {
        case .damaged(let path):
            "the registry \(path) is damaged or no SQLite database: restore a copy, or move it away to begin an empty one"
        case .newerSchema(let path):
            "the registry \(path) was written by a newer version: run that version, or restore a copy from before"
        case .notDurable(let path):
            "the registry \(path) cannot be written durably: it must be on a local file system that SQLite's WAL works on"
        case .anotherIdentity(let path):
            "the registry \(path) belongs to another identity: use the key file it was made with, or begin an empty one"
        case .unreadableSeal(let device):
            "the registry's secrets of device \(device.rawValue) are damaged: the device has to register again"
        case .tooManyRoutes:
            "the registry holds more combinations of platform and app than it can number"
        case .cannotOpen(let path):
            "the registry \(path) cannot be opened: expected a file in a folder that exists and that this user may write to"
        case .failed(let path, let code):
            "the registry \(path) failed with SQLite's code \(code): see that the disk is neither full nor read-only"
        }
    }
}
