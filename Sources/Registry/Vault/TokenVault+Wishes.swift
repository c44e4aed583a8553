import Notifications

extension TokenVault {
    /// Nil when there is nothing to seal.
    func seal(_ wishes: DeviceWishes, of device: DeviceID) throws -> [UInt8]? {
        wishes.isEmpty ? nil : try seal(DeviceWishesCodec.encode(wishes), of: device, for: .wishes)
    }

    func openWishes(_ sealed: [UInt8], of device: DeviceID, _ zones: TimeZones) throws -> DeviceWishes {
        guard let wishes = DeviceWishesCodec.decode(try open(sealed, of: device, for: .wishes), zones) else {
            throw RegistryStoreError.unreadableSeal(device)
        }
        return wishes
    }
}
