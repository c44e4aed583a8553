-- As of commit 0dc907a2: what outbox-5.sql becomes by the migrations up to outbox-requests, with a failure and a dead letter.
BEGIN TRANSACTION;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO "grdb_migrations" VALUES('outbox-1');
INSERT INTO "grdb_migrations" VALUES('outbox-2');
INSERT INTO "grdb_migrations" VALUES('outbox-3');
INSERT INTO "grdb_migrations" VALUES('outbox-4');
INSERT INTO "grdb_migrations" VALUES('outbox-held-natures');
INSERT INTO "grdb_migrations" VALUES('outbox-dead-letters');
INSERT INTO "grdb_migrations" VALUES('outbox-figures');
INSERT INTO "grdb_migrations" VALUES('outbox-requests');
CREATE TABLE outbox_cause (number INTEGER PRIMARY KEY, id BLOB NOT NULL) STRICT;
INSERT INTO "outbox_cause" VALUES(40,X'0101010101010101010101010101010101010101010101010101010101010101');
INSERT INTO "outbox_cause" VALUES(41,X'0202020202020202020202020202020202020202020202020202020202020202');
CREATE TABLE outbox_dead_letter (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    platform TEXT NOT NULL,
    app TEXT NOT NULL,
    device INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failure TEXT NOT NULL,
    status INTEGER NOT NULL,
    reason TEXT NOT NULL,
    notification BLOB NOT NULL
) STRICT;
INSERT INTO "outbox_dead_letter" VALUES(3,'00000000-0000-8000-8000-000000000002','ios','default',1,1773446400000,1773446460000,1,'rejected',400,'BadTopic',X'010001010002646D00000000000000000000');
CREATE TABLE outbox_delivery (
    number INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    id TEXT NOT NULL,
    device INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    due INTEGER,
    notification BLOB NOT NULL
, failure TEXT, status INTEGER, reason TEXT) STRICT;
INSERT INTO "outbox_delivery" VALUES(17592186044421,1,'00000000-0000-8000-8000-000000000005',1,1773446400000,0,NULL,X'010001010002646D00000000000000000000',NULL,NULL,NULL);
INSERT INTO "outbox_delivery" VALUES(17592186044422,1,'00000000-0000-8000-8000-000000000006',3,1773446400000,2,1773446400000,X'010001010002646D00000000000000000000','retry',503,'unavailable');
INSERT INTO "outbox_delivery" VALUES(35184372088839,2,'00000000-0000-8000-8000-000000000007',7,1773446400000,0,NULL,X'010001010002646D00000000000000000000',NULL,NULL,NULL);
CREATE TABLE outbox_figure (
    day INTEGER NOT NULL,
    what TEXT NOT NULL,
    platform TEXT NOT NULL,
    app TEXT NOT NULL,
    mode TEXT NOT NULL,
    language TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (day, what, platform, app, mode, language)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox_held (
                number INTEGER PRIMARY KEY,
                account BLOB NOT NULL,
                event BLOB NOT NULL,
                is_message INTEGER NOT NULL,
                has_overflowed INTEGER NOT NULL,
                signal TEXT NOT NULL,
                mode INTEGER NOT NULL,
                urgency INTEGER NOT NULL,
                count INTEGER NOT NULL,
                since INTEGER NOT NULL,
                expires INTEGER NOT NULL,
                notification BLOB,
                sealed_to INTEGER,
                nature INTEGER NOT NULL,
                mark INTEGER,
                made INTEGER NOT NULL
            ) STRICT;
INSERT INTO "outbox_held" VALUES(32,X'0303030303030303030303030303030303030303030303030303030303030303',X'0404040404040404040404040404040404040404040404040404040404040404',0,0,'dm',0,1,1,1773446400000,1773446460000,X'010001010002646D00000000000000000000',NULL,1,NULL,0);
INSERT INTO "outbox_held" VALUES(225,X'0505050505050505050505050505050505050505050505050505050505050505',X'0606060606060606060606060606060606060606060606060606060606060606',0,0,'dm',0,1,5,1773446400000,0,NULL,NULL,1,NULL,0);
CREATE TABLE outbox_pace (
    device INTEGER PRIMARY KEY,
    pushed INTEGER NOT NULL,
    window_start INTEGER NOT NULL,
    matches INTEGER NOT NULL,
    day INTEGER NOT NULL,
    pushes INTEGER NOT NULL,
    under_way TEXT,
    released INTEGER NOT NULL
, aside INTEGER NOT NULL DEFAULT 0, silent BLOB) STRICT;
INSERT INTO "outbox_pace" VALUES(1,1773446400000,1773446400000,2,20526,3,'00000000-0000-8000-8000-000000000005',1773446400000,0,NULL);
CREATE TABLE outbox_queue (
    number INTEGER PRIMARY KEY,
    platform TEXT NOT NULL,
    app TEXT NOT NULL,
    UNIQUE (platform, app)
) STRICT;
INSERT INTO "outbox_queue" VALUES(1,'ios','default');
INSERT INTO "outbox_queue" VALUES(2,'ntfy','default');
CREATE TABLE outbox_request (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    sender BLOB NOT NULL,
    key BLOB,
    body BLOB NOT NULL,
    created INTEGER NOT NULL,
    events BLOB NOT NULL
) STRICT;
CREATE INDEX outbox_delivery_retry ON outbox_delivery (queue, due) WHERE due IS NOT NULL;
CREATE INDEX outbox_dead_letter_device ON outbox_dead_letter (device);
CREATE UNIQUE INDEX outbox_request_key ON outbox_request (sender, key) WHERE key IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('outbox_dead_letter',3);
COMMIT;
