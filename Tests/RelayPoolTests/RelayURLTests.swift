import RelayPool
import Testing

@Test(arguments: [
    "wss://relay.example.com", "WSS://Relay.Example.COM:443/", "wss://relay.example.com#part",
    "wss://relay.example.com//",
])
func spellingsOfOneRelayAreEqual(_ spelling: String) {
    #expect(RelayURL(spelling)?.text == "wss://relay.example.com")
}

@Test(arguments: [
    ("ws://relay.example.com:80/Path/", "ws://relay.example.com/Path"),
    ("ws://relay.example.com:443", "ws://relay.example.com:443"),
    ("wss://[2001:DB8::1]:7447/", "wss://[2001:db8::1]:7447"),
    ("wss://[2001:0db8:0:0::0:1]/", "wss://[2001:db8::1]"),
    ("wss://relay.example.com/?key=a/", "wss://relay.example.com?key=a/"),
    ("wss://relay.example.com/inbox/?key=a", "wss://relay.example.com/inbox?key=a"),
])
func portsPathsAndQueriesTellRelaysApart(_ spelling: String, _ text: String) throws {
    let url = try #require(RelayURL(spelling))
    #expect(url.text == text)
    #expect(RelayURL(url.text) == url)
}

@Test(arguments: [
    "", "wss://", "relay.example.com", "https://relay.example.com", "wss:/relay.example.com",
    "ws:\u{0f}/relay.example.com",
    "wss://user@relay.example.com", "wss://user:pass@relay.example.com", "wss://relay.example.com:0",
    "wss://relay.example.com:70000", "wss://relay example.com", " wss://relay.example.com",
    "wss://relay.example.com/\n",
    "wss://2130706433/", "wss://0x7f.1/", "wss://réseau.example/", "wss://relay.example.com/%zz",
    "wss://-relay.example.com",
])
func whatIsNoRelayIsRefused(_ text: String) {
    #expect(RelayURL(text) == nil)
}

@Test func lengthIsLimited() {
    let start = "wss://relay.example.com/"
    #expect(RelayURL(start + String(repeating: "a", count: 256 - start.utf8.count)) != nil)
    #expect(RelayURL(start + String(repeating: "a", count: 257 - start.utf8.count)) == nil)
}
