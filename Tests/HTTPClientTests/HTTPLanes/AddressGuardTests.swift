import Testing

@testable import HTTPClient

struct AddressGuardTests {
    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
        "127.0.0.1",
        "127.255.0.9", "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.0.192",
        "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9",
        "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
        "::", "::1", "::127.0.0.1", "::10.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.1.2.3",
        "::ffff:169.254.169.254", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8",
        "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1",
        "2001:db8::1", "2002:7f00:1::", "2002:0a00:0001::1", "2002:c0a8:0101::1", "3fff::1", "5f00::1", "fc00::1",
        "fd00:ec2::254", "fd12:3456::1", "fe80::1", "febf::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1",
    ])
    func anAddressThatIsNotPublicIsRefused(_ text: String) throws {
        #expect(!AddressGuard().permits(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
        "128.0.0.1",
        "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0",
        "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.17",
        "2606:4700::1111", "2a00:1450::8a", "2001:4860:4860::8888", "2001:200::1", "2002:0808:0808::1",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8", "3ffe::1",
    ])
    func aPublicAddressIsPermitted(_ text: String) throws {
        #expect(AddressGuard().permits(try #require(IPAddress(text))))
    }

    /// A URL shows only this much: a name's addresses are checked when a connection is made.
    @Test(arguments: [
        ("https://192.0.2.1/x", false), ("http://[::1]:8080/", false), ("https://localhost/x", false),
        ("http://ntfy.LOCALHOST:80/", false), ("https://[::ffff:10.0.0.1]/", false), ("https://8.8.8.8/", true),
        ("https://localhost.example.com/", true), ("https://notlocalhost/", true), ("https://10.1.2.3/", true),
    ])
    func unusableURLsAreDetected(url: String, mayBePermitted: Bool) throws {
        let addressGuard = try AddressGuard(allowing: ["10.1.2.0/24"])
        #expect(addressGuard.mayPermit(try #require(URLParts(url)).origin) == mayBePermitted)
        #expect(
            try AddressGuard(allowing: ["127.0.0.0/8"]).mayPermit(try #require(URLParts("http://localhost/")).origin)
        )
    }

    @Test func exceptionsOpenOnlyTheirBlocks() throws {
        let blocks = try ["10.1.2.0/24", "127.0.0.1", "fd00:1::/32"].map { try #require(AddressBlock($0)) }
        let permits = { (text: String) in
            AddressGuard(exceptions: blocks).permits(try #require(IPAddress(text)))
        }
        for text in ["10.1.2.0", "10.1.2.255", "127.0.0.1", "::ffff:10.1.2.3", "fd00:1:ffff::1", "8.8.8.8"] {
            #expect(try permits(text))
        }
        for text in ["10.1.1.255", "10.1.3.0", "127.0.0.2", "fd00:2::", "::ffff:10.1.3.0", "::1"] {
            #expect(try !permits(text))
        }
    }

    @Test func everythingCanBeAllowed() throws {
        let blocks = try ["0.0.0.0/0", "::/0"].map { try #require(AddressBlock($0)) }
        let open = AddressGuard(exceptions: blocks)
        for text in ["127.0.0.1", "::1", "ff02::1", "255.255.255.255"] {
            #expect(open.permits(try #require(IPAddress(text))))
        }
    }

    @Test(arguments: [
        "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0.1/8", "10.0.0/8",
        "010.0.0.0/8", "fd00::/129", "fd00::1/64", "localhost", "fe80::1%eth0", " 10.0.0.0/8",
    ])
    func invalidBlockIsRefused(_ text: String) {
        #expect(AddressBlock(text) == nil)
    }
}
