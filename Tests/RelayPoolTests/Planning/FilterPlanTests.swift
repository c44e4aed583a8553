import Nostr
import Testing
import TimeTestSupport

@testable import RelayPool

/// Filters for one key of an account, in every way they are asked for it.
private func authored(furtherLists: Set<Kind>) -> [Filter] {
    var settings = SessionSettings(ownKeys: [.sample(0)])
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
    func expected(_ further: Set<Kind>) -> [Set<Kind>] {
        let lists = further.union([.relayList, .deviceList, .pushRegistration, .addressablePushRegistration])
        let all = lists.union([.deletion, .requestToVanish])
        // Of what is stored only deletions of registrations are asked for.
        return [all, all, lists.union([.requestToVanish]), [.deletion]]
    }
    #expect(authored(furtherLists: []).map(\.kinds) == expected([]))
    let more = authored(furtherLists: [.contactList])
    #expect(more.map(\.kinds) == expected([.contactList]))
    #expect(more.last?.tags == ["k": ["10062", "30062"]])
}
