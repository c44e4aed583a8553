-- As of commit be26520: Keep deliveries durably and attempt each until its end.
-- Made by make_fixtures.py.
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO "grdb_migrations" VALUES('outbox-1');
CREATE TABLE outbox_delivery (
    number INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    id TEXT NOT NULL,
    device INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due INTEGER,
    notification BLOB NOT NULL
) STRICT;
INSERT INTO "outbox_delivery" VALUES(17592186044421,1,'delivery-5',1,1773446400000,0,NULL,X'010001010002646D00000000000000000000');
INSERT INTO "outbox_delivery" VALUES(17592186044422,1,'delivery-6',3,1773446400000,2,1773446400000,X'010001010002646D00000000000000000000');
INSERT INTO "outbox_delivery" VALUES(35184372088839,2,'delivery-7',7,1773446400000,0,NULL,X'010001010002646D00000000000000000000');
CREATE TABLE outbox_queue (
    number INTEGER PRIMARY KEY,
    platform TEXT NOT NULL,
    app TEXT NOT NULL,
    UNIQUE (platform, app)
) STRICT;
INSERT INTO "outbox_queue" VALUES(1,'ios','default');
INSERT INTO "outbox_queue" VALUES(2,'ntfy','default');
CREATE INDEX outbox_delivery_retry ON outbox_delivery (queue, due) WHERE due IS NOT NULL;
COMMIT;
