/// The kind of an event (NIP-01: 0 to 65535), with names for the kinds that Carillon handles.
package struct Kind: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// NIP-01: user metadata.
    package static let profile = Kind(0)
    /// NIP-10: a note.
    package static let textNote = Kind(1)
    /// NIP-02: the keys that a user follows.
    package static let contactList = Kind(3)
    /// NIP-04, deprecated: a message with public sender and recipient.
    package static let encryptedDirectMessage = Kind(4)
    /// NIP-09: deletes events of its author.
    package static let deletion = Kind(5)
    /// NIP-18: a repost of a note.
    package static let repost = Kind(6)
    /// NIP-25.
    package static let reaction = Kind(7)
    /// NIP-17: a chat message; occurs unwrapped only if a relay stores it.
    package static let chatMessage = Kind(14)
    /// NIP-18: a repost of anything but a note.
    package static let genericRepost = Kind(16)
    /// NIP-62: asks relays to delete all data of its author.
    package static let requestToVanish = Kind(62)
    /// NIP-59.
    package static let giftWrap = Kind(1059)
    /// NIP-22.
    package static let comment = Kind(1111)
    /// An audio note.
    package static let audioNote = Kind(1808)
    /// A repost of an audio note.
    package static let audioRepost = Kind(1809)
    /// NIP-57: the request inside a zap receipt.
    package static let zapRequest = Kind(9734)
    /// NIP-57.
    package static let zapReceipt = Kind(9735)
    /// NIP-51.
    package static let muteList = Kind(10000)
    /// NIP-65: the relays that a user reads from and writes to.
    package static let relayList = Kind(10002)
    /// NIP-17: the relays for direct messages; in Gozzip also the devices of a root identity and its key for messages.
    package static let deviceList = Kind(10050)
    /// Registers a device with a push router (contrib/docs/registration.md). In the replaceable range.
    package static let pushRegistration = Kind(10062)
    /// Advertises a push router.
    package static let notificationRelay = Kind(10067)
    /// A partner's hint that an event waits for an account.
    package static let wakeUpHint = Kind(20062)
    /// Internal and never published: represents a notification requested over the API.
    package static let requestedNotification = Kind(20063)
    /// NIP-59, the ephemeral variant.
    package static let ephemeralGiftWrap = Kind(21059)
    /// NIP-42.
    package static let clientAuthentication = Kind(22242)
    /// NIP-46.
    package static let remoteSigning = Kind(24133)
    /// A signed HTTP request (NIP-98).
    package static let httpAuthentication = Kind(27235)
    /// NIP-23: an article.
    package static let longFormContent = Kind(30023)
    /// The same as ``pushRegistration`` in the addressable range, so that public relays keep one per `d`.
    package static let addressablePushRegistration = Kind(30062)
}
