import Testing

@testable import HTTPClient

/// Spellings of hosts that some parsers take for an internal address. Each is rejected as a URL, is an address that the
/// guard rejects, or is a name whose addresses the guard checks.
struct HostileHostTests {
    /// Spellings of 127.0.0.1, 169.254.169.254 and ::1.
    @Test(arguments: [
        "2130706433", "0x7f000001", "0x7F.1", "017700000001", "0177.0.0.1", "0177.0.0.01", "127.1", "127.0.1",
        "127.000.000.001", "00000177.1", "0x7f.0x0.0x0.0x1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
        "169.254.43518", "169.16689662", "0xA9.0xFE.0xA9.0xFE", "425.510.425.510", "4294967296", "4294967295", "0",
        "00",
        "0x0", "0x", "1.0x1", "127.0.0.1.", "localhost.", "127.0.0.1..", "localhost..", "169.254.169.254.",
        ".localhost",
        "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "127｡0｡0｡1", "localhost。", "１２７.0.0.1", "loc\u{AD}alhost",
        "local\u{200B}host", "%31%32%37.0.0.1", "127.0.0.%31", "localhos%74", "localhost%00",
        "localhost%00.example.com",
        "localhost\u{0}.example.com", "user@127.0.0.1", "user:password@127.0.0.1", "example.com@127.0.0.1",
        "example.com:80@127.0.0.1", "127.0.0.1:80@example.com", "127.0.0.1#@example.com", "example.com\\@127.0.0.1",
        "127.0.0.1\\@example.com", "127.0.0.1 example.com", "127.0.0.1\t", "127.0.0.1\r\nHost: x", " 127.0.0.1",
        "[::1", "::1", "[::1]x", "[::1%25lo]", "[::1%lo]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[0:0:0:0:0:0:0:1.]",
        "[::127.1]", "[::ffff:0x7f000001]", "[::ffff:127.1]", "[127.0.0.1]", "[v1.fe80::a]", "[::1]:", "[::1]:0x50",
    ])
    func ambiguousHostIsRefused(host: String) {
        for scheme in ["http", "https"] {
            let parsed = URLParts("\(scheme)://\(host)/")
            // The part before the fragment is the host there, and the rest is never sent.
            let isFragment = host.contains("#")
            #expect(parsed == nil || isFragment && parsed?.origin.address.map { AddressGuard().permits($0) } == false)
        }
    }

    @Test(arguments: [
        "127.0.0.1", "127.255.255.254", "0.0.0.0", "255.255.255.255", "169.254.169.254", "100.64.0.1",
        "100.100.100.200",
        "192.168.0.1", "10.0.0.1", "172.16.0.1", "168.63.129.16", "192.0.0.192", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:127.0.0.1]", "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[::a9fe:a9fe]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]",
        "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2002:a00:1::1]",
        "[2001:0:7f00:1::]", "[fd00:ec2::254]", "[FD00:EC2:0:0:0:0:0:254]", "[fe80::1]", "[fe80::a9fe:a9fe]",
        "[fec0::1]",
        "[fc00::1]", "[ff02::1]", "[100::1]", "[2001:db8::1]", "[5f00::1]", "[3fff::1]",
    ])
    func privateAddressIsRefusedInEverySpelling(host: String) throws {
        for port in ["", ":80", ":443", ":8443"] {
            let address = try #require(URLParts("https://\(host)\(port)/x")?.origin.address)
            #expect(!AddressGuard().permits(address))
        }
    }

    /// Checks of the name would let these pass; here the name has no meaning.
    @Test(arguments: [
        "127.0.0.1.nip.example", "metadata.google.internal", "xn--bcher-kva.example", "1.2.3.4.example", "localhost",
        "a.127-0-0-1.example", "0x7f.example", "0.example",
    ])
    func nameIsCheckedByItsAddresses(host: String) throws {
        let origin = try #require(URLParts("https://\(host)/")?.origin)
        #expect(origin.address == nil && origin.host == host)
    }
}
