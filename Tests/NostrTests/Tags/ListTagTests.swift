import Testing

@testable import Nostr

@Suite struct ListTagTests {
    @Test func relayListsTellReadingFromWriting() {
        let list = RelayList(
            Event.sample(
                kind: .relayList,
                tags: [
                    ["r", "wss://both"], ["r", "wss://read", "read"], ["r", "wss://write", "write"], ["r"],
                    ["r", "wss://other", "other"], ["relay", "wss://no"], ["r", "wss://blank", ""],
                ]
            )
        )
        #expect(list.read == ["wss://both", "wss://read", "wss://blank"])
        #expect(list.write == ["wss://both", "wss://write", "wss://blank"])
    }

    @Test func deviceListsNameKeysAndRelays() {
        let list = DeviceList(
            Event.sample(
                kind: .deviceList,
                tags: [
                    ["device", PublicKey.bob.hex], ["device", PublicKey.bob.hex.uppercased()], ["device"],
                    ["dm_key", PublicKey.alice.hex, "x"], ["dm_key", ""], ["relay", "wss://dm"], ["r", "wss://no"],
                ]
            )
        )
        #expect(list == DeviceList(devices: [.bob], messageKeys: [.alice], relays: ["wss://dm"]))
    }
}
