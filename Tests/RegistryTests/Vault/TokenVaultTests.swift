import Cipher
import Foundation
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct TokenVaultTests {
    private let device = DeviceID(rawValue: 7)

    @Test func sealedTokenRoundTrips() throws {
        let vault = try vault(0x11)
        for plaintext in [[], [1], Array(repeating: 9, count: 20_000)] as [[UInt8]] {
            let sealed = try vault.seal(plaintext, of: device, for: .address)
            #expect(try vault.open(sealed, of: device, for: .address) == plaintext)
        }
    }

    @Test func otherCiphertextIsRefused() throws {
        let vault = try vault(0x11)
        let sealed = try vault.seal([1, 2, 3], of: device, for: .address)
        let error = RegistryStoreError.unreadableSeal(device)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: error) { try vault.open(changed, of: device, for: .address) }
        }
        for count in [0, 1, 13, 28, sealed.count - 1] {
            #expect(throws: error) { try vault.open(Array(sealed.prefix(count)), of: device, for: .address) }
        }
        #expect(throws: error) { try vault.open(sealed, of: device, for: .content) }
        #expect(throws: RegistryStoreError.unreadableSeal(DeviceID(rawValue: 8))) {
            try vault.open(sealed, of: DeviceID(rawValue: 8), for: .address)
        }
        #expect(throws: error) { try self.vault(0x12).open(sealed, of: device, for: .address) }
    }

    @Test func sealingIsRandomizedAndLookupIsStable() throws {
        let vault = try vault(0x11)
        let other = try self.vault(0x12)
        #expect(try vault.seal([1], of: device, for: .address) != vault.seal([1], of: device, for: .address))
        #expect(vault.handle(of: "token") == vault.handle(of: "token"))
        #expect(vault.handle(of: "token") != vault.handle(of: "Token"))
        #expect(vault.handle(of: "token") != other.handle(of: "token"))
        #expect(vault.handle(of: "token").count == 16)
    }

    @Test func keyIsHiddenInDescriptions() throws {
        let vault = try vault(0x11)
        var text = "\(vault) \(String(reflecting: vault))"
        dump(vault, to: &text)
        #expect(!text.contains("sealingKey"))
    }

    @Test func addressesRoundTrip() {
        let address = DeviceAddress(
            platform: "web",
            app: "a",
            token: String(repeating: "t", count: 4096),
            fields: ["x": "", "é": "\u{1F600}"],
            registeredAt: -5
        )
        let bytes = AddressCodec.encode(address)
        #expect(AddressCodec.decode(bytes) == address)
        for count in [0, 7, 8, 9, 20, bytes.count - 1] {
            #expect(AddressCodec.decode(Array(bytes.prefix(count))) == nil)
        }
    }

    @Test func secretsAreEncryptedOnDisk() throws {
        let bench = try Bench()
        let token = "T0KEN-that-nobody-may-read"
        _ = try bench.registry.apply([
            bench.event(of: 1, Samples.phone(token, further: #","device":"Annas phone""#)),
            bench.event(of: 2, Samples.web(endpoint: "https://push.example.com/s3cr3t")),
            bench.event(of: 2, Samples.web(endpoint: "https://push.example.com/an0ther"), at: 1),
        ])
        var disk = Data()
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.folder.path)
        #expect(names.contains("carillon.sqlite-wal"))
        for name in names { disk.append(try Data(contentsOf: URL(filePath: bench.folder.file(name)))) }
        // Public data is found, so the search works.
        #expect(disk.range(of: Data(try bench.account(1).publicKey.array)) != nil)
        let texts = [token, "Annas phone", "s3cr3t", "an0ther", "push.example.com", Samples.p256dh, Samples.auth]
        for text in texts { #expect(disk.range(of: Data(text.utf8)) == nil, "\(text)") }
        for text in [Samples.p256dh, Samples.auth] {
            let bytes = try #require(Base64URL.decode(text))
            #expect(disk.range(of: Data(bytes)) == nil, "\(text)")
        }
    }

    private func vault(_ byte: UInt8) throws -> TokenVault {
        try TokenVault(identity: SecretKey(bytes: Array(repeating: byte, count: 32)))
    }
}
