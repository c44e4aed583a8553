import RelayPool
import Testing

@Test func onlySpellingsOfOneRelayAreEqual() {
    #expect(RelayURL("WSS://Relay.Example.com:443/") == RelayURL("wss://relay.example.com"))
    #expect(RelayURL("wss://relay.example.com") != RelayURL("ws://relay.example.com"))
    #expect(RelayURL("https://relay.example.com") == nil)
}
