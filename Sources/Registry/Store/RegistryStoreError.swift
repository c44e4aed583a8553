import Notifications

/// Why what the registry holds cannot be used, though its database can.
package struct RegistryStoreError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Code: Hashable {
        case anotherIdentity(path: String)
        case unreadableSeal(DeviceID)
        case unreadableEvent
        case tooManyRoutes
    }

    private let code: Code

    private init(_ code: Code) {
        self.code = code
    }

    static func anotherIdentity(path: String) -> RegistryStoreError { RegistryStoreError(.anotherIdentity(path: path)) }
    static func unreadableSeal(_ device: DeviceID) -> RegistryStoreError { RegistryStoreError(.unreadableSeal(device)) }
    static let unreadableEvent = RegistryStoreError(.unreadableEvent)
    static let tooManyRoutes = RegistryStoreError(.tooManyRoutes)

    package var description: String {
        switch code {
        case .anotherIdentity(let path):
            "the registry \(path) belongs to another identity: use the key file it was made with, or begin an empty one"
        case .unreadableSeal(let device):
            "the registry's secrets of device \(device.rawValue) are damaged: the device has to register again"
        case .unreadableEvent:
            "an event that the registry keeps cannot be read: its author has to publish it again"
        case .tooManyRoutes:
            "the registry holds more combinations of platform and app than it can number"
        }
    }
}
