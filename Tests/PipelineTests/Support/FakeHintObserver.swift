import Nostr
import Pipeline
import Synchronization

final class FakeHintObserver: HintObserver {
    struct Heard: Sendable, Hashable {
        let account: PublicKey
        let partner: PublicKey
        let moment: Int64
    }

    let heard = Mutex<[Heard]>([])

    func heard(account: PublicKey, partner: PublicKey, at moment: Int64) {
        heard.withLock { $0.append(Heard(account: account, partner: partner, moment: moment)) }
    }

    var all: [Heard] { heard.withLock { $0 } }
}
