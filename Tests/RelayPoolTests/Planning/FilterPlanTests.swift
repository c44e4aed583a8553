import Nostr
import Testing

@testable import RelayPool

/// Filters for one key of an account, in every way they are asked for it.
private func authored(furtherLists: Set<Kind>) -> [Filter] {
    var settings = SessionSettings(ownKey: .sample(0))
    settings.furtherLists = furtherLists
    let plan = FilterPlan(settings, withWraps: true)
    let entry = RosterEntry(
        Watched(key: .sample(1), interest: [.addressed, .authored], since: 1_000, isEstablished: false)
    )
    let stages = plan.catchUp([entry], since: 2_000) + plan.beginning([entry], notBefore: 0)
    let live = plan.live(addressed: [.sample(1)], authored: [.sample(1)], now: 3_000_000)
    return (live + stages.map(\.filter)).filter { $0.authors == [.sample(1)] }
}

@Test func contactListsOfAccountsAreAskedForWhereThatMatters() {
    let lists: Set<Kind> = [.relayList, .deviceList, .pushRegistration, .addressablePushRegistration]
    #expect(authored(furtherLists: []).map(\.kinds) == [lists, lists, lists])
    let more = lists.union([.contactList])
    #expect(authored(furtherLists: [.contactList]).map(\.kinds) == [more, more, more])
}
