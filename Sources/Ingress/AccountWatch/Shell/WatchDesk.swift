import Nostr
import Registry
import RelayPool

/// What only one thread at a time works on: the relays' numbers and the hints. The rest is on disk.
struct WatchDesk {
    var relays: (any RelayWatching)?
    var book: RelayBook
    var hints: HintLedger
    /// Rows that have a key watched which is not its owner's. Without any, nobody needs to be asked who else has a key watched.
    var claims = 0
    /// Before then relays are not counted again, in milliseconds since 1970.
    var nextCount: Int64 = 0
    private let choice: RelayChoice
    private var reader = RelayReader()

    init(book: RelayBook, hints: HintLedger, choice: RelayChoice) {
        self.book = book
        self.hints = hints
        self.choice = choice
    }

    /// The relays that an account chose besides the operator's, admitted or not.
    mutating func choice(of account: WatchedAccount) -> [RelayURL] {
        choice.relays(choice.texts(of: account), without: book.operators) { reader.read($0) }
    }

    /// What is to be watched for an account, as far as its own word goes. `now` is in milliseconds since 1970.
    mutating func wish(of account: WatchedAccount, now: Int64) -> WatchWish {
        let relays = choice(of: account).compactMap { book.admit($0) }
        let now = now / 1000
        let isFresh = now - account.registeredAt < Self.freshRegistration
        var wish = WatchWish(
            owner: account.key,
            interest: [.addressed, .authored],
            relays: relays,
            begin: isFresh ? min(account.registeredAt, now) : now
        )
        if !account.messageKeys.isEmpty {
            wish.messageKeys = Array(account.messageKeys.filter { $0 != account.key }.prefix(Self.keysPerAccount))
        }
        if !relays.isEmpty, !account.partners.isEmpty {
            wish.partners = Array(account.partners.subtracting([account.key]).sorted().prefix(Self.keysPerAccount))
        }
        return wish
    }

    /// What is to be watched for a root of interest that has no account.
    func wish(ofRoot root: PublicKey, now: Int64) -> WatchWish {
        WatchWish(owner: root, interest: .authored, begin: now / 1000)
    }

    /// A registration that is younger, in seconds, counts from its own time and not from when its relays were learned of.
    private static let freshRegistration: Int64 = 600
    private static let keysPerAccount = 16
}
