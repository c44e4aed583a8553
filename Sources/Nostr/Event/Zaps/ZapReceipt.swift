/// What a zap receipt (NIP-57) tells: who sent how much to whom, and why.
///
/// A receipt proves that somebody asked for an invoice, not that it was paid: for that one trusts the receipt's author.
/// Whether that is the recipient's wallet only the recipient's LNURL server knows, which is not asked here.
package struct ZapReceipt: Hashable, Sendable {
    /// The request for the zap: one zap, however many receipts there are.
    package let request: EventID
    /// Who signed the request for the zap.
    package let sender: PublicKey
    /// The sender signed with a key for this once and does not want to be known.
    package let isAnonymous: Bool
    package let recipient: PublicKey
    /// What the invoice asks for, in thousandths of a satoshi.
    package let millisats: UInt64
    package let comment: String
    /// The event that was zapped; nil when it was the person.
    package let zapped: EventID?
}

extension ZapReceipt {
    /// Reads `receipt`, whose own signature was verified before.
    ///
    /// Throws unless it holds a request (kind 9734) with a right signature for the same recipient, and an invoice (BOLT-11)
    /// of the amount that the request names, if it names one.
    package init(_ receipt: Event) throws(ZapReceiptError) {
        guard receipt.kind == .zapReceipt else { throw .notAReceipt }
        let request = try Self.request(in: receipt)
        let recipients = Set(request.mentionedKeys)
        guard let recipient = recipients.first, recipients.count == 1, Set(receipt.mentionedKeys) == recipients else {
            throw .wrongRecipient
        }
        guard let invoice = receipt.value(of: "bolt11"), let millisats = InvoiceAmount.millisats(of: invoice) else {
            throw .noAmount
        }
        if let asked = request.value(of: "amount"), UInt64(asked) != millisats { throw .otherAmount }
        do {
            try request.verify()
        } catch {
            throw .forgedRequest
        }
        self.init(
            request: request.id,
            sender: request.pubkey,
            isAnonymous: request.tags.contains { $0.first == "anon" },
            recipient: recipient,
            millisats: millisats,
            comment: request.content,
            zapped: request.values(of: "e").lazy.compactMap { EventID(hex: $0) }.first
        )
    }

    private static func request(in receipt: Event) throws(ZapReceiptError) -> Event {
        guard let description = receipt.value(of: "description"),
            let request = try? Event(json: Array(description.utf8)),
            request.kind == .zapRequest
        else { throw .noRequest }
        return request
    }
}
