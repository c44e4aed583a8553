import Nostr
import Registry
import Storage

/// Finding out who is followed by those whom an account follows, while events wait for it.
extension Pipeline {
    /// A contact list came that was asked for. It may be that of somebody whom an account follows.
    func noteDistances(in list: Event, at now: Int64) {
        guard list.kind == .contactList else { return }
        let named = list.values(of: "p").lazy.compactMap { PublicKey(hex: $0) }
        let settled = distances.settle(naming: named, at: now) { [registry] account in
            (try? registry.isFollowed(list.pubkey, by: account)) == true
        }
        for want in settled { parking.found(distance: want) }
    }

    /// The contact list of `account` is known now: pairs that waited for it are settled or asked about.
    func resumeDistances(of account: PublicKey, at now: Int64) {
        for want in distances.takeWaiting(for: account) {
            do {
                let list = try registry.recipientList(.contactList, of: account)
                let isFollowed = try registry.isFollowed(want.author, by: account)
                guard let list, isFollowed == false, distances.distance(want, by: list.mark.id, at: now) == nil else {
                    parking.found(distance: want)
                    continue
                }
                distances.ask(want, by: list.mark.id)
                if !parking.ask(want) { distances.ended(want, isAnswered: false, at: now) }
            } catch {
                registryTrouble.occurred(error, at: now)
                parking.found(distance: want)
            }
        }
    }

    /// Relays have answered, or will not: what was not found of `wants` is not to be had.
    func endDistances(of wants: ContextWants, isAnswered: Bool, at now: Int64) {
        for want in wants.distances { distances.ended(want, isAnswered: isAnswered, at: now) }
        for account in wants.contactLists {
            for want in distances.takeWaiting(for: account) { parking.found(distance: want) }
        }
    }
}
