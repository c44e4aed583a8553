import Core
import Nostr
import Push

@testable import Registry

/// The content of registrations, which any client can encrypt to us: accepted content is bounded and survives the
/// vault's codec; errors name the problem without quoting the content.
enum RegistrationJudge {
    private static let zero = Bytes32(words: (0, 0, 0, 0))
    private static let desk = RegistrationPolicy(keys: RouterKeyNames(PublicKey(zero)))
    private static let ourKey = PublicKey(zero).hex

    /// A platform of each kind of target; any other name is one without a description.
    private static let platforms = PlatformCatalog(
        [
            "ios": #"{"kind": "token", "pattern": "^[ -~]*$"}"#, "ntfy": #"{"kind": "endpoint", "chosen": true}"#,
            "unifiedpush": #"{"kind": "endpoint"}"#, "web": #"{"kind": "subscription"}"#,
        ].mapValues { target in
            promised("a platform is described") {
                try PlatformDescription(parsing: #"{"version": 1, "name": "x", "target": \#(target)}"#)
            }
        }
    )

    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        judgeSlot(text)
        let content: RegistrationContent
        do throws(RegistrationError) {
            content = try RegistrationContent(json: text, platforms: platforms)
        } catch {
            promise(error.description.utf8.count < 1_024, "a refusal is short")
            return true
        }
        promise(content.json == text, "the text is kept as it came")
        promise((1...4_096).contains(content.token.utf8.count), "a token is bounded")
        promise(content.fields.count <= 64 && content.signals.count <= 131, "fields and signals are bounded")
        promise(content.relays.count <= 20 && content.partners.count <= 128, "relays and partners are bounded")
        let address = content.address(registeredAt: Timestamp(seconds: 1_700_000_000))
        promise(AddressCodec.decode(AddressCodec.encode(address)) == address, "an address survives its codec")
        _ = SealingKey(content.fields, author: PublicKey(zero))
        _ = content.language
        return true
    }

    /// The address codec reads only values that we sealed; the policy reads values that any key may have signed.
    private static func judgeSlot(_ text: String) {
        _ = AddressCodec.decode(Array(text.utf8))
        let event = Event(
            id: EventID(zero),
            pubkey: PublicKey(zero),
            createdAt: 1_700_000_000,
            kind: .addressablePushRegistration,
            tags: [["d", "\(ourKey):\(text.prefix(80))"], ["root_identity", String(text.suffix(64))]],
            content: text,
            signature: Signature(first: zero, second: zero)
        )
        guard case .request(let request) = desk.read(event, now: Timestamp(seconds: 1_700_000_000)) else { return }
        promise(
            (1...RegistrationSlot.deviceIDLimit).contains(request.slot.deviceID.utf8.count),
            "a device id is bounded"
        )
    }
}
